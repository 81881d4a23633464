import type { Locator } from 'playwright-core';

/**
 * Reads every block of a question in the console, from its first line to its last. The panel measures what is in view
 * once per frame. A block that was scrolled past within a frame is read again, as a person would.
 */
export async function readWhole(question: Locator): Promise<void> {
  const whole = question.page().locator('.question-panel[data-read="true"]');
  do {
    for (const block of await question.locator('[data-qt-lines]:visible').all())
      await block.evaluate(async (each) => {
        const drawn = (): Promise<unknown> =>
          new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        each.scrollIntoView({ block: 'start' });
        each.scrollTo(0, 0);
        await drawn();
        each.scrollTo(0, each.scrollHeight);
        for (const block of ['center', 'end'] as const) {
          each.scrollIntoView({ block });
          await drawn();
        }
        // The bar with the answers covers the end of the page.
        const covered = document.querySelector('.question-answers')?.clientHeight ?? 0;
        for (let around = each.parentElement; around !== null; around = around.parentElement)
          around.scrollBy(0, covered);
        await drawn();
      });
  } while (!(await whole.isVisible()));
}
