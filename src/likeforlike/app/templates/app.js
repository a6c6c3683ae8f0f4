"use strict";
// Dropping a file, following a job, and small comforts. Without it all pages work but for dropping.
const form = document.querySelector("form[data-drop]");
if (form) {
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector(".drop");
  const send = () => {
    const file = input.files[0];
    const error = document.getElementById("file-error");
    error.textContent = "";
    if (!file) return;
    if (file.size > Number(form.dataset.most)) {
      error.textContent = form.dataset.large;
      input.value = "";
      return;
    }
    form.classList.add("busy");
    form.submit();
  };
  form.querySelector("button").hidden = true;
  input.addEventListener("change", send);
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    send();
  });
}

const job = document.querySelector("[data-job]");
if (job) {
  const bar = job.querySelector("progress");
  const words = job.querySelector("[role=status]");
  let said = 0;
  const ask = async () => {
    const answer = await fetch(`${job.dataset.job}/state`).catch(() => null);
    const known = answer && answer.ok ? await answer.json() : null;
    if (known && known.state !== "running") return location.replace(job.dataset.job);
    if (known && known.progress !== null) {
      bar.value = known.progress;
      // Every tenth part is enough for those who listen.
      if (known.progress - said >= 0.1 || said === 0) {
        said = known.progress;
        words.textContent = `${Math.round(100 * said)}% ${job.dataset.share}`;
      }
    }
    setTimeout(ask, 400);
  };
  setTimeout(ask, 250);
  addEventListener("pagehide", () => navigator.sendBeacon(`${job.dataset.job}/leave`));
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = button.dataset.copied;
  });
}

for (const frame of document.querySelectorAll("iframe")) {
  const fit = () => {
    const inside = frame.contentDocument && frame.contentDocument.body;
    if (!inside) return;
    const size = () => { frame.style.height = `${Math.ceil(inside.getBoundingClientRect().height)}px`; };
    new ResizeObserver(size).observe(inside);
    size();
  };
  frame.addEventListener("load", fit);
  fit();
}

for (const select of document.querySelectorAll(".columns select")) {
  select.addEventListener("change", () => select.closest("tr").classList.toggle("used", select.value !== ""));
}
