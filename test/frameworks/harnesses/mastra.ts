/** An agent of Mastra, with its storage, and a model of the AI SDK that follows a script. */
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { governTools } from '@quittance/mastra';
import type { Harness, PlainTool, Ran, RunOptions, Script, Told } from '../suite/harness.ts';
import { toJsonSchema } from '../suite/harness.ts';
import { scriptedModel } from './mastra-model.ts';

const harness: Harness = {
  name: 'Mastra',
  module: import.meta.url,
  streams: true,
  suspends: true,
  annotations: 'of a server',
  reuse: 'told once',
  async start(plain, options) {
    const governed = await governTools(
      Object.fromEntries(plain.map((one) => [one.name, toTool(one)])),
      options,
    );
    const go = async (
      script: Script,
      { sessionId, signal, stream = false }: RunOptions,
      kept?: Kept,
      answer?: object,
    ): Promise<Ran> => {
      const told: Told[] = [];
      const storage = kept === undefined ? new InMemoryStore() : restore(kept.tables);
      const agent = new Agent({
        id: 'clerk',
        name: 'Clerk',
        instructions: 'Do it.',
        model: scriptedModel(script, told) as never,
        ...governed.agent,
        defaultOptions: { ...governed.agent.defaultOptions, maxSteps: 10 },
      });
      const mastra = new Mastra({ agents: { clerk: agent }, storage, logger: false });
      const clerk = mastra.getAgent('clerk');
      const settings = {
        memory: { thread: sessionId, resource: 'ada' },
        ...(signal !== undefined && { abortSignal: signal }),
      };
      if (stream) {
        const output = await clerk.stream('Go.', settings);
        await output.consumeStream();
        return { text: await output.text, told };
      }
      const output =
        kept === undefined
          ? await clerk.generate('Go.', settings)
          : await clerk.resumeGenerate(answer ?? {}, {
              ...settings,
              runId: kept.runId,
              toolCallId: kept.toolCallId,
            });
      if (output.finishReason !== 'suspended') return { text: output.text, told };
      const { toolCallId } = output.suspendPayload as { toolCallId: string };
      return {
        text: undefined,
        told,
        suspended: JSON.stringify({ runId: output.runId, toolCallId, tables: save(storage) }),
      };
    };
    return {
      runtime: governed.runtime,
      run: (script, runOptions) => go(script, runOptions),
      resume: (suspended, answer, script, runOptions) =>
        go(script, runOptions, JSON.parse(suspended) as Kept, answer),
    };
  },
};
export default harness;

/** The data that a process needs to continue a run: the tables of the storage. */
type Kept = { readonly runId: string; readonly toolCallId: string; readonly tables: Tables };
type Tables = Readonly<Record<string, readonly (readonly [unknown, unknown])[]>>;

const tablesOf = (storage: InMemoryStore): Readonly<Record<string, unknown>> =>
  (storage.stores as unknown as { workflows: { db: Record<string, unknown> } }).workflows.db;

const save = (storage: InMemoryStore): Tables =>
  Object.fromEntries(
    Object.entries(tablesOf(storage)).flatMap(([name, table]) =>
      table instanceof Map && table.size > 0 ? [[name, [...(table as Map<unknown, unknown>)]]] : [],
    ),
  );

function restore(tables: Tables): InMemoryStore {
  const storage = new InMemoryStore();
  for (const [name, rows] of Object.entries(tables)) {
    const table = tablesOf(storage)[name] as Map<unknown, unknown>;
    for (const [key, row] of rows) table.set(key, row);
  }
  return storage;
}

export const toTool = (plain: PlainTool) =>
  createTool({
    id: plain.name,
    description: `The tool ${plain.name}.`,
    inputSchema: toJsonSchema(plain) as never,
    ...(plain.needsApproval !== undefined && { requireApproval: plain.needsApproval }),
    ...(plain.annotations !== undefined && { mcp: { annotations: plain.annotations } }),
    execute: async (input: unknown, { abortSignal }: { abortSignal?: AbortSignal }) =>
      plain.run(input as Record<string, unknown>, abortSignal),
  } as never);
