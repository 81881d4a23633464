/**
 * What a server puts before a model without a call of a tool: its instructions, its prompts and its resources. They are
 * reviewed like a tool. No person is asked later, so clients get only approved ones, and while the gateway observes also
 * those without an answer.
 *
 * Instructions are approved as a text. Prompts and resources change with every request, so a person approves that this
 * server may offer them at all.
 */
import type { ServerEntry } from './server-entry.ts';
import type { ListedTool } from './listed-tool.ts';
import type { ToolReviews } from './tool-reviews.ts';

/** What a server may offer besides tools, with the names under which people answer about it. No tool may have one. */
const offers = {
  prompts: {
    name: '$prompts',
    title: 'Prompts of the server',
    description:
      'The server writes the messages that a client puts into a conversation when a person picks one of its prompts. The gateway hides secrets in them and checks nothing else.',
  },
  resources: {
    name: '$resources',
    title: 'Resources of the server',
    description:
      'The server writes the documents that a client puts into a conversation when it reads one of its resources. The gateway hides secrets in them and checks nothing else.',
  },
} as const;
const instructionsName = '$instructions';

export type Offer = keyof typeof offers;

export const isTextName = (name: string): boolean =>
  name === instructionsName || Object.values(offers).some((offer) => offer.name === name);

const longest = 50_000;

/** They change nothing by themselves. A trusted server needs no answer about them. */
const asTool = (text: {
  readonly name: string;
  readonly title: string;
  readonly description: string;
}): ListedTool => ({ ...text, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });

const toReviewedInstructions = (text: string): ListedTool =>
  asTool({
    name: instructionsName,
    title: 'Instructions of the server',
    description: text.slice(0, longest),
  });

/** What people are asked about a server, besides its tools. */
export const reviewedTexts = (
  instructions: string | undefined,
  can: (capability: string) => boolean,
): readonly ListedTool[] => [
  ...(instructions === undefined ? [] : [toReviewedInstructions(instructions)]),
  ...(['prompts', 'resources'] as const).flatMap((offer) => (can(offer) ? [asTool(offers[offer])] : [])),
];

type Shown = { readonly reviews: ToolReviews | undefined; readonly observe: boolean };

/** The instructions that clients get. Without reviews, a program has decided to use this server. */
export function shownInstructions(
  entry: ServerEntry,
  text: string | undefined,
  { reviews, observe }: Shown,
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

/** Do clients get the prompts or the resources of a server? */
export function isShown(entry: ServerEntry, offer: Offer, { reviews, observe }: Shown): boolean {
  if (reviews === undefined) return true;
  const { status } = reviews.read(entry, asTool(offers[offer]));
  return status === 'approved' || (status === 'unknown' && observe);
}
