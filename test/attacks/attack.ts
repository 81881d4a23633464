/** One attempt to bypass the rules: a call under a document as a user would write it, through a runtime. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../packages/quittance/src/base/json.ts';
import type { Principal } from '../../packages/quittance/src/tool/tool-context.ts';
import type { ToolResources } from '../../packages/quittance/src/tool/tool-resources.ts';
import type { Door, Verdict } from './attack-class.ts';
import { documents } from './documents.ts';

export type Attack = {
  readonly id: string;
  /** What it tries, as a phrase. */
  readonly tries: string;
  readonly document: keyof typeof documents;
  readonly tool: string;
  readonly input: JsonObject;
  /** The tool's output, for rules on outputs. */
  readonly output?: JsonValue;
  readonly resources?: ToolResources;
  /** Links to make in the project folder, by name. */
  readonly links?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** Why nothing here can stop it, for an attempt that succeeds. */
  readonly outOfReach?: string;
};

/** A redacted output must not contain this. */
export const secret = 'sk-attack-0123456789abcdef';

/** Stands for the project folder in documents and arguments; its parent is the home directory. */
export const project = '/home/user/project';

/** The ruling of the rules alone, for calls that no runtime would accept because the tool name is invalid. */
export async function judgeByRules({ document, tool, input }: Attack, door: Door): Promise<Verdict> {
  const { decision } = await door.contracts
    .contractsFromYamlString(documents[document])
    .evaluate({ toolName: tool, input });
  return decision === 'allow' ? 'through' : decision === 'ask' ? 'asked' : 'held';
}

/**
 * Makes the call in a runtime. `through` means that the body ran, or that its output left with the secret.
 */
export async function makeCall(attack: Attack, door: Door): Promise<Verdict> {
  const place = prepareFolder(attack, door);
  const contracts =
    attack.links === undefined && attack.workingDirectory === undefined
      ? loadDocument(documents[attack.document], door)
      : door.contracts.contractsFromYamlString(place(documents[attack.document]), {
          homeDirectory: place('/home/user'),
          ...(attack.workingDirectory !== undefined && { workingDirectory: place(attack.workingDirectory) }),
        });
  return callTool({
    door,
    contracts,
    tool: attack.tool,
    input: JSON.parse(place(JSON.stringify(attack.input))) as JsonObject,
    ...(attack.resources !== undefined && { resources: attack.resources }),
    ...(attack.output !== undefined && { output: attack.output }),
  });
}

/** Links have to be real: the rules ask the file system. Without links the paths need not exist. */
function prepareFolder({ links }: Attack, door: Door): (text: string) => string {
  if (links === undefined) return (text) => text;
  const folder = door.newFolder();
  const place = (text: string): string => text.replaceAll('/home/user', `${folder}/home/user`);
  mkdirSync(place(`${project}/secrets`), { recursive: true });
  for (const [name, target] of Object.entries(links)) symlinkSync(place(target), join(place(project), name));
  return place;
}

type Contracts = ReturnType<Door['contracts']['contractsFromTemplate']>;
/** Compiled once per entry point: compiling takes longer than judging. */
const loaded = new WeakMap<object, Map<string, Contracts>>();

/** A template for the project folder `/project`. */
export function loadTemplate(template: string, { contracts }: Door): Contracts {
  const known = loaded.get(contracts) ?? new Map<string, Contracts>();
  loaded.set(contracts, known);
  const before = known.get(template);
  if (before !== undefined) return before;
  const options = { workingDirectory: '/project', homeDirectory: '/home/agent' };
  const made = contracts.contractsFromTemplate(template, options);
  known.set(template, made);
  return made;
}

/** The same for a custom document. */
export function loadDocument(document: string, { contracts }: Door): Contracts {
  const known = loaded.get(contracts) ?? new Map<string, Contracts>();
  loaded.set(contracts, known);
  const made =
    known.get(document) ?? contracts.contractsFromYamlString(document, { homeDirectory: '/home/user' });
  known.set(document, made);
  return made;
}

export type ToolCallAttempt = {
  readonly door: Door;
  readonly contracts:
    | ReturnType<Door['contracts']['contractsFromYamlString']>
    | ReturnType<Door['contracts']['contractsFromTemplate']>;
  readonly tool: string;
  readonly input: JsonObject;
  readonly resources?: ToolResources;
  readonly output?: JsonValue;
  readonly principal?: Principal;
};

/** A runtime whose approver denies, and the ids of the calls that ran or were asked about. */
type Stage = {
  readonly runtime: ReturnType<Door['quittance']['createRuntime']>;
  readonly ran: Set<string>;
  readonly asked: Set<string>;
};

function openStage({ door, contracts, tool, resources, output }: ToolCallAttempt): Stage {
  const { createRuntime, defineTool } = door.quittance;
  const [ran, asked] = [new Set<string>(), new Set<string>()];
  const runtime = createRuntime({
    tools: [
      defineTool({
        name: tool,
        mode: 'external',
        ...(resources !== undefined && { resources }),
        run: (_, { callId }) => {
          ran.add(callId);
          return output ?? 'done';
        },
      }),
    ],
    contracts,
    onConfirm: ({ callId }) => {
      asked.add(callId);
      return { decision: 'deny', by: 'approver' };
    },
  });
  return { runtime, ran, asked };
}

const stages = new WeakMap<object, Map<string, Stage>>();

/** Most attempts differ in their input alone. They share a runtime, because making one takes longer than a call. */
function stageFor(attempt: ToolCallAttempt): Stage {
  if (attempt.resources !== undefined || attempt.output !== undefined) return openStage(attempt);
  const known = stages.get(attempt.contracts) ?? new Map<string, Stage>();
  stages.set(attempt.contracts, known);
  const stage = known.get(attempt.tool) ?? openStage(attempt);
  known.set(attempt.tool, stage);
  return stage;
}

let calls = 0;

/**
 * One call in its own session, whose approver denies. `held` means that the rules held it. The runtime also
 * protects its own files, which would hide a hole in a rule if the tests ran in their folder.
 */
export async function callTool(attempt: ToolCallAttempt): Promise<Verdict> {
  const { runtime, ran, asked } = stageFor(attempt);
  const id = `c${++calls}`;
  const outcome = await runtime
    .turn({ sessionId: id, ...(attempt.principal !== undefined && { principal: attempt.principal }) })
    .call({ id, name: attempt.tool, arguments: attempt.input });
  if (attempt.output !== undefined) return JSON.stringify(outcome).includes(secret) ? 'through' : 'held';
  if (ran.has(id)) return 'through';
  const { decision } = await attempt.contracts.evaluate({
    toolName: attempt.tool,
    input: attempt.input,
    resources: attempt.resources,
    principal: attempt.principal,
  });
  if (decision === 'allow') return 'through';
  return asked.has(id) ? 'asked' : 'held';
}
