import { expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { Backend } from '../backends/backend.ts'
import { NOTHING } from '../backends/offer.ts'
import { createNames } from '../catalog/index.ts'
import { BACKEND_DEFAULTS, type CatalogueMode } from '../config/index.ts'
import { RouteDirectory } from './directory.ts'
import { prefixedNames } from './names.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function backendWith(tools: () => readonly Json[]): Backend {
  const backend = new Backend({
    config: { name: 'files', address: { command: 'never-started', args: [] }, settings: BACKEND_DEFAULTS },
    logger: () => silent,
    credentials: undefined,
    authorizer: undefined,
    file: undefined,
    rejectsStateful: () => false,
    onOffer: () => {},
    withheldOf: async () => new Set<string>(),
    onUpdated: () => {},
  })
  vi.spyOn(backend, 'offer', 'get').mockImplementation(() => ({ ...NOTHING, tools: tools() }))
  return backend
}

test('where tools are searched, their changes change what is found and not what is listed', () => {
  let catalogue: CatalogueMode = 'search'
  let tools = [{ name: 'read' }]
  const backend = backendWith(() => tools)
  const names = prefixedNames(createNames([{ name: 'files' }]))
  const directory = new RouteDirectory({
    backends: () => [backend],
    names: () => names,
    view: () => undefined,
    catalogue: () => catalogue,
  })
  const found = (): unknown => directory.search?.find({ query: '' })['structuredContent']
  expect(directory.refresh().changed).toEqual(['tools'])
  expect(found()).toMatchObject({ tools: [{ name: 'files_read' }] })

  tools = [{ name: 'read' }, { name: 'write' }]
  expect(directory.refresh().changed).toEqual([])
  expect(found()).toMatchObject({ tools: [{ name: 'files_read' }, { name: 'files_write' }] })

  catalogue = 'all'
  const { changed, entries } = directory.refresh()
  expect(changed).toEqual(['tools'])
  expect(entries.tools.map(({ name }) => name)).toEqual(['files_read', 'files_write'])
  expect(directory.search).toBeUndefined()
})
