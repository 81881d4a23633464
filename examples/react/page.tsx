import { StrictMode } from 'react';
import type { ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import type { OnDecide } from '@quittance/react';
import { eventStream, ToolCallCard, useToolCalls } from '@quittance/react';
import '@quittance/react/react.css';
import './page.css';

// Outside the component: a new object would be a new source.
const events = eventStream('/events');

const decide: OnDecide = async (confirmationId, decision) => {
  const answer = await fetch('/decide', {
    method: 'POST',
    body: JSON.stringify({ confirmationId, decision }),
  });
  if (!answer.ok) throw new Error(await answer.text());
};

function Calls(): ReactNode {
  const { calls, error } = useToolCalls(events);
  return (
    <>
      <h1>The agent at work</h1>
      {calls.map((call) => (
        <ToolCallCard key={call.key} call={call} onDecide={decide} />
      ))}
      {error && <p role="alert">{error.message}</p>}
    </>
  );
}

createRoot(document.getElementById('page') as HTMLElement).render(
  <StrictMode>
    <Calls />
  </StrictMode>,
);
