/** The pages, by the first part of the address after `#/`. */
import type { ComponentType } from 'preact'
import type { PageProps } from './address.ts'
import { Calls } from './pages/calls.tsx'
import { Definitions } from './pages/definitions.tsx'
import { Overview } from './pages/overview.tsx'
import { Tools } from './pages/tools.tsx'

interface PageRoute {
  readonly title: string
  readonly page: ComponentType<PageProps>
}

export const PAGES: ReadonlyMap<string, PageRoute> = new Map([
  ['overview', { title: 'Overview', page: Overview }],
  ['calls', { title: 'Calls', page: Calls }],
  ['tools', { title: 'Tools', page: Tools }],
  ['definitions', { title: 'Definitions', page: Definitions }],
])

export const FIRST_PAGE = 'overview'
