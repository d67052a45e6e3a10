// The little that the pages do by themselves: the one-time link, and live views. Everything else is htmx.
"use strict";

(function () {
  // The token of a one-time link stands behind the #, which is sent to no server. It leaves the address bar at once.
  const link = document.getElementById("link");
  if (link && location.hash.length > 1) {
    link.elements.token.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    document.getElementById("opening").hidden = false;
    document.getElementById("without-link").hidden = true;
    document.addEventListener("DOMContentLoaded", () => link.requestSubmit());  // behind the listener of htmx
  }

  // A part of the page that the server sends again when it has changed. It waits while the keyboard is in the part, and
  // none is sent while the page is hidden.
  for (const live of document.querySelectorAll("[data-live]")) {
    const { events, target } = live.dataset;
    let stream = null;
    let shown = null;
    const open = () => {
      stream = new EventSource(events);
      stream.addEventListener("changed", (event) => {
        const part = document.querySelector(target);
        if (event.data === shown || part.contains(document.activeElement)) return;
        shown = event.data;
        put("problem", "");
        htmx.swap(part, JSON.parse(shown), { swapStyle: "outerHTML" });
      });
      stream.addEventListener("problem", (event) => put("problem", JSON.parse(event.data)));
    };
    const follow = () => {
      if (document.hidden && stream) stream.close();
      if (document.hidden) stream = null;
      else if (!stream) open();
    };
    document.addEventListener("visibilitychange", follow);
    follow();
  }

  // The forms of tools. A call reports its progress in its answer, so that it is sent by fetch. Each event of the answer
  // names the part of the page that it replaces.
  let running = null;

  function put(id, html) {
    htmx.swap(document.getElementById(id), html, { swapStyle: "innerHTML" });
  }

  function busy(controller) {
    running = controller;
    const stop = document.getElementById("stop");
    if (stop) stop.hidden = running === null;
  }

  async function follow(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const [, name, data] = event.match(/^event: (\w+)\ndata: (.*)$/);
        if (name === "outcome") put("progress", "");
        put(name, JSON.parse(data));
      }
    }
  }

  async function send(form, act) {
    const body = new URLSearchParams(new FormData(form));
    body.set("act", act);
    if (running) running.abort();
    const controller = new AbortController();
    busy(controller);
    const focused = document.activeElement && document.activeElement.name;
    try {
      const headers = { "HX-Request": "true" };
      const answer = await fetch(form.action, { method: "POST", body, headers, signal: controller.signal });
      put("problem", "");
      if ((answer.headers.get("content-type") || "").startsWith("text/event-stream")) return await follow(answer.body);
      put((answer.headers.get("HX-Retarget") || "").slice(1) || form.dataset.call, await answer.text());
      const again = focused && document.getElementsByName(focused)[0];
      const wrong = act === "run" && document.querySelector("#try-form [aria-invalid]");
      if (wrong || again) (wrong || again).focus();
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      put("progress", "");
    } finally {
      if (running === controller) busy(null);
    }
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-call]")) return;
    event.preventDefault();
    send(event.target, event.submitter ? event.submitter.value : "run");
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("form[data-call] [data-reshape]")) send(event.target.form, "shape");
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("form[data-call] [data-act]");
    if (button) send(button.form, button.dataset.act);
    if (event.target.closest("#stop") && running) running.abort();
  });

  const pending = document.getElementById("pending");
  if (!pending) return;
  const title = document.title;
  const notify = document.getElementById("notify");
  const cards = () => [...pending.querySelectorAll("[data-ticket]")];

  function count() {
    const waiting = cards().length;
    document.title = waiting ? `(${waiting}) ${title}` : title;
    document.getElementById("count").textContent = waiting;
    document.getElementById("nothing").hidden = waiting > 0;
  }

  async function show(ids) {
    const open = cards().map((card) => card.dataset.ticket);
    for (const card of cards()) {
      if (!ids.includes(card.dataset.ticket)) await fetchCard(card.dataset.ticket, card, "outerHTML");
    }
    for (const id of ids) {
      if (!open.includes(id)) {
        await fetchCard(id, pending, "beforeend");
        tell();
      }
    }
    count();
  }

  function fetchCard(id, target, swap) {
    return htmx.ajax("GET", `${pending.dataset.cards}/${encodeURIComponent(id)}/card`, { target, swap });
  }

  function tell() {
    if ("Notification" in window && Notification.permission === "granted" && document.hidden) {
      new Notification(notify.dataset.text);
    }
  }

  if ("Notification" in window && Notification.permission === "default") {
    notify.hidden = false;
    notify.addEventListener("click", async () => {
      await Notification.requestPermission();
      notify.hidden = true;
    });
  }
  let last = Promise.resolve();
  new EventSource(pending.dataset.events).addEventListener("tickets", (event) => {
    last = last.then(() => show(JSON.parse(event.data)));
  });
  document.body.addEventListener("htmx:afterSettle", count);
  count();
})();
