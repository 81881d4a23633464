import type { ReactNode } from 'react';
import { Link } from '../ui/link.tsx';

export function NotFound(): ReactNode {
  return (
    <div className="alone">
      <h1>Page not found</h1>
      <p>
        Go to the <Link to="/">overview</Link> or to all <Link to="/calls">calls</Link>.
      </p>
    </div>
  );
}
