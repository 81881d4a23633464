import type { ReactNode } from 'react';

export function LoggedOut(): ReactNode {
  return (
    <main className="alone" id="page" tabIndex={-1}>
      <h1>You are not logged in</h1>
      <p>
        The terminal that runs <code>quittance serve</code> shows a link that logs you in. With a token of
        your own, <a href="/login">log in here</a>.
      </p>
    </main>
  );
}
