import type { ReactNode } from 'react';

export function LoggedOut(): ReactNode {
  return (
    <main className="alone" id="page" tabIndex={-1}>
      <h1>You are not logged in</h1>
      <p>
        Use the login link in the terminal that runs <code>quittance serve</code>. If you have a token,{' '}
        <a href="/login">log in here</a>.
      </p>
    </main>
  );
}
