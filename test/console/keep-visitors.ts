import { afterEach } from 'vitest';
import type { Stage, Visitor } from './stage.ts';

/**
 * Visits that end with their test, which fails if a page had an unexpected complaint. A provoked refusal also
 * appears in the browser's console, and must.
 */
export function keepVisitors(stage: () => Stage, foreseen: RegExp): Stage['visit'] {
  const visitors: Visitor[] = [];
  afterEach(async () => {
    for (const { page, context, complaints } of visitors.splice(0)) {
      // A request may be passing through a route at any moment.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
      const unforeseen = complaints.filter((text) => !foreseen.test(text));
      if (unforeseen.length > 0) throw new Error(unforeseen.join('\n'));
    }
  });
  return async (options) => {
    const visitor = await stage().visit(options);
    visitors.push(visitor);
    return visitor;
  };
}
