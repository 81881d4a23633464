/** Finds text in a page that a reader would not see or that could move its neighbors. */
import type { Page } from 'playwright-core';

/** One of everything that hides, reverses or imitates text, as a model could write it. */
export const hostileText =
  'pay\u2800\u3164\u200b\u00a0\u{e0041}\ufe0f\u202e\u0000p\u0430l 100 \u05e9\u05dc\u05dd 900 \ue000';

/** Each position with a few words around it. Empty if everything is marked and isolated. */
export const findHidden = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const hidden =
      /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u2800\u0430]|(?![\n\t])\p{Cc}|(?![ \n\t])\p{White_Space}/u;
    const rightToLeft = /[\u0590-\u08ff]/;
    const found: string[] = [];
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      const text = node.nodeValue ?? '';
      if (parent === null || /^(?:SCRIPT|STYLE|NOSCRIPT)$/.test(parent.tagName)) continue;
      if (hidden.test(text))
        found.push(`hidden in <${parent.tagName} ${parent.className}>: ${text.slice(0, 80)}`);
      // A field and the title have no isolated parts: a field shows the text in its own order.
      const isPlain = getComputedStyle(parent).unicodeBidi === 'bidi-override';
      if (
        !isPlain &&
        rightToLeft.test(text) &&
        (parent.tagName !== 'BDI' || /[0-9A-Za-z]/.test(parent.textContent ?? ''))
      )
        found.push(`not apart in <${parent.tagName} ${parent.className}>: ${text.slice(0, 80)}`);
    }
    for (const each of document.querySelectorAll('*'))
      for (const name of ['title', 'aria-label', 'placeholder', 'alt', 'value'])
        if (hidden.test(each.getAttribute(name) ?? '')) found.push(`hidden in ${name} of <${each.tagName}>`);
    for (const field of document.querySelectorAll('textarea'))
      if (hidden.test(field.value)) found.push('hidden in a field');
    if (hidden.test(document.title)) found.push('hidden in the title');
    return found;
  });
