/**
 * Finds what an agent can reach without Quittance: its own tools, those of its handoffs, and MCP servers that the SDK
 * lists itself. Checked before every round, because tools and handoffs can be added at any time.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { quote } from 'quittance/internal/base/nearest';

/** On every tool made by an adapter of this package. */
export const governedMark: unique symbol = Symbol.for('quittance.governed');

type GivenAgent = {
  readonly [key in 'name' | 'tools' | 'handoffs' | 'mcpServers']?: unknown;
};

type Finding = { readonly agent: string; readonly tool: string };

const objectsIn = (value: unknown): readonly object[] =>
  Array.isArray(value)
    ? (value as readonly unknown[]).filter((one): one is object => typeof one === 'object' && one !== null)
    : [];

const nameOf = (value: object): string =>
  'name' in value && typeof value.name === 'string' ? value.name : '(without a name)';

/** Everything the agent can reach that is neither governed nor named in `ungoverned`. */
export function findUngoverned(agent: unknown, ungoverned: readonly string[]): readonly Finding[] {
  const found: Finding[] = [];
  const seen = new Set<object>();
  const waiting = objectsIn([agent]).slice();
  for (const next of waiting) {
    if (seen.has(next)) continue;
    seen.add(next);
    const { tools, handoffs, mcpServers }: GivenAgent = next;
    for (const tool of objectsIn(tools))
      if (!(governedMark in tool) && !ungoverned.includes(nameOf(tool)))
        found.push({ agent: nameOf(next), tool: `the tool ${quote(nameOf(tool))}` });
    for (const server of objectsIn(mcpServers))
      if (!ungoverned.includes(nameOf(server)))
        found.push({ agent: nameOf(next), tool: `the MCP server ${quote(nameOf(server))}` });
    // A handoff is an agent, or an object that contains one.
    for (const handoff of objectsIn(handoffs))
      waiting.push(
        'agent' in handoff && typeof handoff.agent === 'object' && handoff.agent !== null
          ? handoff.agent
          : handoff,
      );
  }
  return found;
}

/** Throws if the agent could bypass the gates. */
export function refuseUngovernedAgent(agent: unknown, ungoverned: readonly string[]): void {
  const found = findUngoverned(agent, ungoverned);
  if (found.length === 0) return;
  const list = found.map(({ agent: owner, tool }) => `${tool} of the agent ${quote(owner)}`).join(', ');
  throw new QuittanceError(
    'config.invalid',
    `The run could reach ungoverned tools: ${list}. Give agents the tools of governTools; for MCP ` +
      'servers use its option mcpServers. To allow them, name them in its option ungoverned.',
  );
}
