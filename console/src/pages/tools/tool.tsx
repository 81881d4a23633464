import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function ToolPage(_props: { readonly toolName: string }): ReactNode {
  return <PageHead title="Tool" />;
}
