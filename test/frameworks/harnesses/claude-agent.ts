/** An agent of the Claude Agent SDK: the real program, with a scripted Messages API. */
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { SDKResultMessage, SdkMcpToolDefinition } from '@anthropic-ai/claude-agent-sdk';
import { tool } from '@anthropic-ai/claude-agent-sdk';
import { governTools } from '@quittance/claude-agent';
import type { ClaudeAgentApproval, ClaudeAgentTool } from '@quittance/claude-agent';
import { z } from 'zod';
import type { Harness, PlainTool, Ran, RunOptions, Script, Told } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';
import { makeHome, runScripted } from './claude-agent-query.ts';
import type { MessagesRequest, ScriptedBlock } from './scripted-messages.ts';

const server = 'shop';

const sdk = dirname(createRequire(import.meta.url).resolve('@anthropic-ai/claude-agent-sdk'));
const { version } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as { version: string };

const harness: Harness = {
  name: 'Claude Agent SDK',
  module: import.meta.url,
  streams: true,
  // Before 0.3.325 a deferred call is lost when the session is resumed, so calls wait in place there.
  suspends: version.localeCompare('0.3.325', 'en', { numeric: true }) >= 0,
  reuse: 'told once',
  annotations: 'of the author',
  startsProgram: true,
  async start(plain, options) {
    const governed = await governTools(plain.map(toTool), { server, ...options });

    const go = async (
      place: Place | undefined,
      approvals: readonly ClaudeAgentApproval[],
      script: Script,
      { sessionId, signal, stream = false }: RunOptions,
    ): Promise<Ran> => {
      const run = governed.run({ sessionId });
      await run.takeApprovals(approvals);
      const home = place?.home ?? makeHome();
      const player = createPlayer(script);
      const told: Told[] = [];
      const abortController = new AbortController();
      signal?.addEventListener('abort', () => abortController.abort());
      let result: SDKResultMessage | undefined;
      try {
        result = await runScripted(
          home,
          async ({ messages }) => {
            told.splice(0, told.length, ...messages.flatMap(readTold));
            const round = await player.next(told);
            if ('text' in round) return [{ type: 'text', text: round.text }];
            return round.calls.map(({ id, name, arguments: input }): ScriptedBlock => ({
              type: 'tool_use',
              id,
              name: `mcp__${server}__${name}`,
              input,
            }));
          },
          {
            ...run.options,
            allowedTools: [`mcp__${server}`],
            includePartialMessages: stream,
            abortController,
            ...(place !== undefined && { resume: place.session }),
          },
        );
      } finally {
        if (result === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      }
      if (result?.subtype !== 'success') throw new Error(`The query ended with ${result?.subtype}.`);
      const deferred = result.deferred_tool_use;
      if (deferred !== undefined) {
        const suspended: Place = { home, session: result.session_id, toolUseId: deferred.id };
        return { text: undefined, told, suspended: JSON.stringify(suspended) };
      }
      // A resumed session may be resumed again.
      if (place === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      return { text: result.result, told };
    };

    return {
      runtime: governed.runtime,
      run: (script, runOptions) => go(undefined, [], script, runOptions),
      resume: (suspended, answer, script, runOptions) => {
        const place = JSON.parse(suspended) as Place;
        return go(place, [{ toolUseId: place.toolUseId, ...answer }], script, runOptions);
      },
    };
  },
};
export default harness;

/** The position of a stopped run: the folder of the SDK, its session there, and the call that waits. */
type Place = { readonly home: string; readonly session: string; readonly toolUseId: string };

const kinds = { string: z.string(), number: z.number(), boolean: z.boolean() };

function toTool(plain: PlainTool): ClaudeAgentTool {
  const { name, parameters, takesAnything = false, needsApproval = false, annotations } = plain;
  const shape = Object.fromEntries(Object.entries(parameters).map(([key, kind]) => [key, kinds[kind]]));
  const definition: SdkMcpToolDefinition<typeof shape> = tool(
    name,
    `The tool ${name}.`,
    shape,
    async (args, extra) => {
      const result = await plain.run(args, (extra as { signal?: AbortSignal }).signal);
      const text = typeof result === 'string' ? result : JSON.stringify(result ?? null);
      return { content: [{ type: 'text', text }] };
    },
    // The closest that the SDK has to a tool that needs approval.
    needsApproval || annotations !== undefined
      ? { annotations: { ...(needsApproval && { destructiveHint: true }), ...annotations } }
      : undefined,
  );
  return takesAnything ? { ...definition, inputSchema: toJsonSchema(plain) } : definition;
}

type ResultBlock = {
  readonly type: string;
  readonly tool_use_id: string;
  readonly is_error?: boolean;
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[];
};

function readTold({ content }: MessagesRequest['messages'][number]): readonly Told[] {
  if (!Array.isArray(content)) return [];
  return (content as readonly ResultBlock[]).flatMap(({ type, tool_use_id, is_error, content: said }) =>
    type !== 'tool_result'
      ? []
      : {
          callId: tool_use_id,
          texts: typeof said === 'string' ? splitNote(said) : (said ?? []).flatMap(({ text }) => text ?? []),
          isError: is_error ?? false,
        },
  );
}

/** The program turns an error into one text with a part on each line. Tabled content is JSON on one line. */
const splitNote = (said: string): readonly string[] => {
  const end = said.startsWith('{') ? said.indexOf('\n') : -1;
  return end === -1 ? [said] : [said.slice(0, end), said.slice(end + 1)];
};
