import type { Scene } from '../stage.ts';
import { sessionId } from '../stage.ts';

export const secrets: Scene = {
  title: 'The tool receives the secret. The record, the model and all others see [REDACTED].',
  async play({ check, note, openTurn, request, runtime, show }) {
    const call = request('sign_in', { user: 'ada', password: 'rye-and-salt' });
    const answer = await openTurn().call(call);
    const masked = { ...call, arguments: { user: 'ada', password: 'rye-…' } };
    show(masked, answer, { ends: 'result', happened: 'the shop received the password' });
    const [record] = await runtime.calls.audit({ sessionId, callId: call.id });
    note(`On record: ${JSON.stringify(record?.requestedInput)}`);
    const kept = JSON.stringify([answer, await runtime.events.list({ sessionId })]);
    check(
      'the password should appear nowhere in the stored and reported data.',
      !kept.includes('rye-and-salt'),
    );
  },
};
