/** The pages, by the first part of the address after `#/`. */
import type { ComponentType } from 'preact'
import type { PageProps } from './address.ts'
import { Calls } from './pages/calls.tsx'
import { Definitions } from './pages/definitions.tsx'
import { Inbox } from './pages/inbox.tsx'
import { Overview } from './pages/overview.tsx'
import { Tools } from './pages/tools.tsx'
import { Settings } from './pages/settings.tsx'

interface PageRoute {
  readonly title: string
  readonly page: ComponentType<PageProps>
}

export const PAGES: ReadonlyMap<string, PageRoute> = new Map([
  ['overview', { title: 'Overview', page: Overview }],
  ['calls', { title: 'Calls', page: Calls }],
  ['tools', { title: 'Tools', page: Tools }],
  ['inbox', { title: 'Inbox', page: Inbox }],
  ['definitions', { title: 'Definitions', page: Definitions }],
  ['settings', { title: 'Settings', page: Settings }],
])

export const FIRST_PAGE = 'overview'
