/** Answers one ticket. The session is the ticket, so a ticket that is opened again repeats nothing. */
import type { LanguageModel } from 'ai';
import { generateText, stepCountIs } from 'ai';
import type { Support } from './quittance.ts';

export async function answerTicket(
  support: Support,
  ticket: { readonly id: string; readonly text: string },
  model: LanguageModel,
): Promise<string> {
  const run = support.run({
    sessionId: ticket.id,
    principal: { serviceId: 'support-agent', ticketRef: ticket.id },
  });
  const { text } = await generateText({
    model,
    system: 'You answer tickets of a shop. Look up the order first. Refund what is due. Write one mail.',
    prompt: ticket.text,
    tools: run.tools, // a held refund waits here until a person decides
    stopWhen: stepCountIs(20),
  });
  return text;
}
