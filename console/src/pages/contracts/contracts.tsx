import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Contracts(_props: { readonly tab: string | undefined }): ReactNode {
  return <PageHead title="Contracts" />;
}
