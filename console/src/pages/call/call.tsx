import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function CallPage(_props: { readonly sessionId: string; readonly callId: string }): ReactNode {
  return <PageHead title="Call" />;
}
