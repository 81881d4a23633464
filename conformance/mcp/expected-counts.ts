/** What the fixture server passes directly. A lane with fewer checks has lost something on the way. */
import type { Revision } from './run-suite.ts';

type Count = { readonly total: number; readonly checks: number };

export const expectedCounts: Readonly<Record<Revision, { readonly scored: Count; readonly tasks?: Count }>> =
  {
    '2025-11-25': { scored: { total: 30, checks: 70 } },
    '2026-07-28': { scored: { total: 37, checks: 120 }, tasks: { total: 10, checks: 44 } },
  };
