import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function SessionPage(_props: { readonly sessionId: string }): ReactNode {
  return <PageHead title="Session" />;
}
