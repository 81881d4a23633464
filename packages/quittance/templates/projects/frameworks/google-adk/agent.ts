/** The agent: an `LlmAgent` of the Agent Development Kit, with governed tools. */
import { InMemorySessionService, LlmAgent, LogLevel, Runner, setLogLevel } from '@google/adk';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

setLogLevel(LogLevel.ERROR);

const owner = { appName: 'shop', userId: 'customer' };

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const agent = new LlmAgent({ name: 'clerk', model: createModel(), tools: governed.tools });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ ...owner, sessionId });
  const runner = new Runner({ ...owner, agent, sessionService, plugins: [governed.plugin] });
  const text = 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.';
  let said = '';
  // A held call waits here until a person decides.
  for await (const { content } of runner.runAsync({
    userId: owner.userId,
    sessionId,
    newMessage: { role: 'user', parts: [{ text }] },
  }))
    said = content?.parts?.map((part) => part.text ?? '').join('') ?? said;
  return said;
}
