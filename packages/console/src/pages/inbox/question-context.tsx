/** What an approver may want to know besides the arguments: the conversation, similar calls, earlier decisions. */
import type { ReactNode } from 'react';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Conversation } from '../../ui/conversation.tsx';
import { CallsBefore } from './calls-before.tsx';
import { EarlierDecisions } from './earlier-decisions.tsx';
import { LastSimilarCall } from './last-similar-call.tsx';
import { QuestionFacts } from './question-facts.tsx';

export function QuestionContext({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { sessionId, callId } = question;
  const { data } = useAnswer<CallDetail>(pathOf('sessions', sessionId, 'calls', callId));
  return (
    <>
      <Conversation attrs={data?.call.attrs} />
      <LastSimilarCall question={question} />
      <EarlierDecisions question={question} />
      <QuestionFacts question={question} />
      <CallsBefore sessionId={sessionId} callId={callId} />
    </>
  );
}
