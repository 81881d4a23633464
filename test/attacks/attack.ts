/** One attempt to get past the rules, and how it is judged: through documents, as a user would write them. */
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { compilePolicy } from '../../src/policy/compile-policy.ts';
import { composeRules } from '../../src/policy/compose-rules.ts';
import { parseDocument } from '../../src/policy/parse-document.ts';
import type { PolicyCall, PolicyWorld } from '../../src/policy/policy-call.ts';
import type { ToolResources } from '../../src/tool/tool-resources.ts';
import { documents } from './documents.ts';

export type Attack = {
  readonly id: string;
  /** What it tries, as a phrase. */
  readonly tries: string;
  readonly document: keyof typeof documents;
  readonly tool: string;
  readonly input: JsonObject;
  /** What the tool gave, for rules about outputs. */
  readonly output?: JsonValue;
  readonly resources?: ToolResources;
  /** Where links lead in the world of this attempt. */
  readonly links?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** What becomes of it. An output that is `clean` holds the secret nowhere. */
  readonly expected: 'block' | 'ask' | 'allow' | 'clean';
  /** Why nothing here can stop it, for what gets through. */
  readonly outOfReach?: string;
};

/** What must not be in an output that was cleaned. */
export const secret = 'sk-attack-0123456789abcdef';

export async function judge(attack: Attack): Promise<Attack['expected'] | 'leaks'> {
  const { links = {}, output } = attack;
  const world: PolicyWorld = {
    environment: 'production',
    env: () => undefined,
    realPath: (path) => followLinks(path, links),
    workingDirectory: attack.workingDirectory,
    homeDirectory: '/home/user',
    selectors: {},
    operators: {},
  };
  const document = parseDocument(documents[attack.document], attack.document);
  const policy = compilePolicy(composeRules([document]), world);
  const call: PolicyCall = {
    toolName: attack.tool,
    input: attack.input,
    principal: undefined,
    metadata: undefined,
    snapshot: undefined,
    resources: attack.resources,
  };
  if (output === undefined) return (await policy.judgeCall(call)).decision;
  const ruling = await policy.judgeOutput(call, { type: 'result', value: output });
  return JSON.stringify(ruling.output).includes(secret) ? 'leaks' : 'clean';
}

function followLinks(path: string, links: Readonly<Record<string, string>>): string {
  const from = Object.keys(links).find((link) => path === link || path.startsWith(`${link}/`));
  return from === undefined ? path : `${links[from] ?? ''}${path.slice(from.length)}`;
}
