/** Finds texts in everything a page shows: text, titles, labels, fields and the title of the tab. */
import type { Page } from 'playwright-core';

/** Where one of the `words` is shown, with a few characters around it. Link targets are skipped. */
export const findText = (page: Page, words: readonly string[]): Promise<readonly string[]> =>
  page.evaluate((wanted) => {
    const found: string[] = [];
    const look = (where: string, text: string | null | undefined): void => {
      const word = wanted.find((each) => text?.includes(each) === true);
      if (word !== undefined && text !== null && text !== undefined)
        found.push(`${where}: ${text.slice(Math.max(0, text.indexOf(word) - 40), text.indexOf(word) + 40)}`);
    };
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent === null || /^(?:SCRIPT|STYLE|NOSCRIPT)$/.test(parent.tagName)) continue;
      look(`text of <${parent.tagName} ${parent.className}>`, node.nodeValue);
    }
    for (const each of document.querySelectorAll('*')) {
      for (const name of each.getAttributeNames()) {
        if (name === 'href' || (name === 'value' && each.getAttribute('type') === 'hidden')) continue;
        look(`${name} of <${each.tagName}>`, each.getAttribute(name));
      }
      // The current value of a field is not an attribute.
      if (each instanceof HTMLInputElement && each.type !== 'hidden') look('a field', each.value);
      if (each instanceof HTMLTextAreaElement) look('a field', each.value);
    }
    // A text may be split over several elements.
    look('the page', document.body.innerText);
    look('the title', document.title);
    return found;
  }, words);
