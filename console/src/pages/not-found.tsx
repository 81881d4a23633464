import type { ReactNode } from 'react';
import { Link } from '../ui/link.tsx';

export function NotFound(): ReactNode {
  return (
    <div className="alone">
      <h1>There is no such page</h1>
      <p>
        Back to the <Link to="/">overview</Link> or to all <Link to="/calls">calls</Link>.
      </p>
    </div>
  );
}
