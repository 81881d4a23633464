import type { Locator } from 'playwright-core';

/**
 * Clicks Approve like a person. Both panels refuse a click right after something moved, including their own
 * scrolling, and say so. The person then looks again and clicks again.
 */
export async function approve(
  question: Locator,
  click: (button: Locator) => Promise<void> = (button) => button.click(),
): Promise<void> {
  const button = question.getByRole('button', { name: 'Approve', exact: true });
  // The console and the card word it differently.
  const refusal = question.getByText(/^This (?:changed a moment ago|just changed or moved)/);
  do {
    await button.scrollIntoViewIfNeeded();
    await untilStill(question);
    await click(button);
  } while (await refusal.isVisible());
}

/**
 * Waits until nothing in the question has changed or moved for a while. `question`: the container of its
 * panel.
 */
export const untilStill = (question: Locator): Promise<void> =>
  question.locator('.question-panel[data-still="true"], .qt-consent[data-seen="true"]').first().waitFor();
