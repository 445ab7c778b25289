/* Search without a server. A browser refuses to start a worker of a page that it has opened from a file. There, this
   replaces Worker by a hidden frame, which runs the same script beside the page and passes the same messages. */
(() => {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      const script = new URL(url, location.href).href;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.begin(frame.contentWindow, script), { once: true });
      frame.srcdoc = "<!doctype html><title>worker</title>";
      const attach = () => document.body.appendChild(frame);
      if (document.body) attach();
      else document.addEventListener("DOMContentLoaded", attach, { once: true });
    }

    begin(inside, script) {
      const load = (source) =>
        new Promise((done, failed) => {
          const element = inside.document.createElement("script");
          element.src = source;
          element.onload = () => done();
          element.onerror = () => failed(new Error(`cannot load ${source}`));
          inside.document.head.appendChild(element);
        });
      inside.importScripts = (...sources) => Promise.all(sources.map(load));
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      load(script).then(() => {
        this.inside = inside;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
    }

    postMessage(data) {
      if (!this.inside) {
        this.waiting.push(data);
        return;
      }
      const event = new this.inside.MessageEvent("message", { data });
      this.inside.dispatchEvent(event);
      if (this.inside.onmessage) this.inside.onmessage(event);
    }

    terminate() {}
  }

  window.Worker = FrameWorker;
})();
