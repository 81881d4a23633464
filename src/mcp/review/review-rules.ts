import type { BeforeAnswer } from '../../policy/language/code-rule.ts';
import type { PolicyCall } from '../../policy/language/policy-call.ts';
import { contracts } from '../../contracts/contracts.ts';
import type { LoadedContracts } from '../../contracts/loaded-contracts.ts';
import type { ToolReview } from './tool-reviews.ts';

export type ReviewRulesOptions = {
  /** The state of a tool by its name in the runtime. Undefined for tools that need no review, such as our own. */
  readonly reviewOf: (toolName: string) => ToolReview | undefined;
  /** Calls of tools without an answer run, and are recorded as what would have been asked. */
  readonly observe: boolean;
};

/** How long a held call waits. Reviews are often made hours later. */
const timeoutSeconds = 24 * 3_600;

/**
 * The rules by which calls of tools without a valid review ask. Compose them with other contracts by
 * `contractsFromMultiple`. A changed tool asks in observe mode too: a person approved something else.
 */
export function reviewRules({ reviewOf, observe }: ReviewRulesOptions): LoadedContracts {
  const askByMode = ({ toolName }: PolicyCall): BeforeAnswer => {
    const review = reviewOf(toolName);
    if (review?.status !== 'approved' || (review.mode !== 'destructive' && review.mode !== 'local'))
      return undefined;
    return ask(`Tools of the mode ${review.mode} ask before they run.`);
  };
  const ask = (message: string): BeforeAnswer => ({ action: 'ask', message, timeoutSeconds });
  return contracts({
    name: 'reviews of MCP tools',
    rules: [
      // The runtime asks by mode itself, unless it observes.
      ...(observe ? [{ id: 'mcp-mode-asks', mode: 'observe' as const, before: askByMode }] : []),
      {
        id: 'mcp-tool-blocked',
        before: ({ toolName }) =>
          reviewOf(toolName)?.status === 'blocked'
            ? { action: 'block', message: 'A person blocked this tool.' }
            : undefined,
      },
      {
        id: 'mcp-tool-asks',
        mode: observe ? 'observe' : 'enforce',
        before: ({ toolName }) => {
          const review = reviewOf(toolName);
          return review?.status === 'approved' && review.asks
            ? ask('A person decides about every call of this tool.')
            : undefined;
        },
      },
      {
        id: 'mcp-tool-not-reviewed',
        mode: observe ? 'observe' : 'enforce',
        before: ({ toolName }) =>
          reviewOf(toolName)?.status === 'unknown'
            ? ask('This tool was not reviewed yet, so a person decides about this call.')
            : undefined,
      },
      {
        id: 'mcp-tool-changed',
        before: ({ toolName }) => {
          const review = reviewOf(toolName);
          if (review?.status !== 'changed') return undefined;
          return ask(
            review.changed === 'tool'
              ? 'The description or schema of this tool changed since it was approved, so a person decides about this call.'
              : 'The server of this tool has another address, folder or environment than the one that was approved, so a person decides about this call.',
          );
        },
      },
    ],
  });
}
