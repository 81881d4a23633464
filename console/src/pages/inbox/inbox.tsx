import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Inbox(_props: { readonly confirmationId: string | undefined }): ReactNode {
  return <PageHead title="Inbox" />;
}
