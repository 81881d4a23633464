import { afterEach } from 'vitest';
import type { Stage, Visitor } from './stage.ts';

/**
 * Visits that end with the test they are made in; it fails where a page complained of anything that was not foreseen.
 * A refusal that was provoked is told to the browser's console as well, and must be.
 */
export function keepVisitors(stage: () => Stage, foreseen: RegExp): Stage['visit'] {
  const visitors: Visitor[] = [];
  afterEach(async () => {
    for (const { page, context, complaints } of visitors.splice(0)) {
      // A request may be on its way through a route at any moment.
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
