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

  // A part of the page that is asked for again when the state has changed, unless the keyboard is in it.
  for (const live of document.querySelectorAll("[data-live]")) {
    const { events, refresh, target } = live.dataset;
    let shown = live.dataset.position;
    new EventSource(events).addEventListener("changed", (event) => {
      if (event.data === shown || document.querySelector(target).contains(document.activeElement)) return;
      shown = event.data;
      htmx.ajax("GET", refresh, { target, swap: "outerHTML" });
    });
  }

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
