import type { ReactNode } from 'react';

export function LoggedOut(): ReactNode {
  return (
    <main className="alone" id="page" tabIndex={-1}>
      <h1>You are not logged in</h1>
      <p>
        <a
          className="button"
          href={`/login?returnTo=${encodeURIComponent(location.pathname + location.search)}`}
        >
          Log in
        </a>
      </p>
      <p>
        With a token, or with the identity provider if this server has one. The terminal that runs{' '}
        <code>quittance serve</code> also shows a login link.
      </p>
    </main>
  );
}
