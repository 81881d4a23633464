/**
 * The instructions of a server, which clients put before everything else that a model reads. They are reviewed like a
 * tool. Unlike the description of a tool, they act without a call, so no person is asked later. Clients get only
 * approved ones, and while the gateway observes also those without an answer.
 */
import type { ServerEntry } from '../config/server-entry.ts';
import type { ListedTool } from '../tools/listed-tool.ts';
import type { ToolReviews } from './tool-reviews.ts';

/** The name under which people answer about them. No tool may have it. */
export const instructionsName = '$instructions';

const longest = 50_000;

export const toReviewedInstructions = (text: string): ListedTool => ({
  name: instructionsName,
  title: 'Instructions of the server',
  description: text.slice(0, longest),
  inputSchema: { type: 'object' },
  // They change nothing by themselves. A trusted server needs no answer about them.
  annotations: { readOnlyHint: true },
});

/** What clients get. Without reviews, a program has decided to use this server. */
export function shownInstructions(
  entry: ServerEntry,
  text: string | undefined,
  { reviews, observe }: { readonly reviews: ToolReviews | undefined; readonly observe: boolean },
): string | undefined {
  if (text === undefined) return undefined;
  const cut = text.slice(0, longest);
  if (reviews === undefined) return cut;
  const review = reviews.read(entry, toReviewedInstructions(text));
  switch (review.status) {
    case 'approved':
      return cut;
    case 'unknown':
      return observe ? cut : undefined;
    case 'changed': {
      const { description } = review.approved;
      return typeof description === 'string' ? description : undefined;
    }
    case 'blocked':
      return undefined;
  }
}
