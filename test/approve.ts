import type { Locator } from 'playwright-core';

/**
 * Clicks Approve as a person does. Both panels refuse a click that comes right after something moved, their own
 * scrolling included, and say so. The person then looks at what is shown now and clicks again.
 */
export async function approve(
  question: Locator,
  click: (button: Locator) => Promise<void> = (button) => button.click(),
): Promise<void> {
  const button = question.getByRole('button', { name: 'Approve', exact: true });
  const refusal = question.getByText('This changed a moment ago');
  do {
    await button.scrollIntoViewIfNeeded();
    await untilStill(question);
    await click(button);
  } while (await refusal.isVisible());
}

/** Waits until nothing that is asked about has changed or moved for a while. `question`: what its panel is in. */
export const untilStill = (question: Locator): Promise<void> =>
  question.locator('.question-panel[data-still="true"], .qt-consent[data-seen="true"]').first().waitFor();
