import { expect, test } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { Backend } from '../backends/backend.ts'
import { NO_LISTS, type ServerLists } from '../backends/lists/serverLists.ts'
import { createNames } from '../catalog/index.ts'
import { BACKEND_DEFAULTS, type CatalogueMode } from '../config/index.ts'
import { RouteDirectory } from './directory.ts'
import { prefixedNames } from './names.ts'
import { Via } from '../loops.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function backendWith(lists: () => Partial<ServerLists>, name = 'files'): Backend {
  const backend = new Backend({
    config: { name, address: { command: 'never-started', args: [] }, settings: BACKEND_DEFAULTS },
    logger: () => silent,
    via: new Via(),
    credentials: undefined,
    authorizer: undefined,
    file: undefined,
    rejectsStateful: () => false,
    onLists: () => {},
    withheldOf: async () => new Set<string>(),
    onUpdated: () => {},
  })
  Object.defineProperty(backend.lists, 'latest', { get: () => ({ ...NO_LISTS, ...lists() }) })
  return backend
}

test('where tools are searched, their changes change what is found and not what is listed', async () => {
  let catalogue: CatalogueMode = 'search'
  let tools = [{ name: 'read' }]
  const backend = backendWith(() => ({ tools }))
  const names = prefixedNames(createNames([{ name: 'files' }]))
  const directory = new RouteDirectory({
    backends: () => [backend],
    names: () => names,
    view: () => undefined,
    catalogue: () => catalogue,
  })
  const found = async (): Promise<unknown> => (await directory.search?.find({ query: '' }))?.['structuredContent']
  expect(directory.refresh().changed).toEqual(['tools'])
  expect(await found()).toMatchObject({ tools: [{ name: 'files_read' }] })

  tools = [{ name: 'read' }, { name: 'write' }]
  expect(directory.refresh().changed).toEqual([])
  expect(await found()).toMatchObject({ tools: [{ name: 'files_read' }, { name: 'files_write' }] })

  catalogue = 'all'
  const { changed, entries } = directory.refresh()
  expect(changed).toEqual(['tools'])
  expect(entries.tools.map(({ name }) => name)).toEqual(['files_read', 'files_write'])
  expect(directory.search).toBeUndefined()
})

const listed = (uris: readonly string[]): Json[] => uris.map((uri) => ({ uri, name: uri }))
const templated = (uris: readonly string[]): Json[] => uris.map((uriTemplate) => ({ uriTemplate, name: uriTemplate }))

function mailDirectory(mine: Partial<ServerLists>, others: Partial<ServerLists>): RouteDirectory {
  const backends = [backendWith(() => mine, 'mail'), backendWith(() => others, 'other')]
  const names = prefixedNames(createNames(backends))
  const directory = new RouteDirectory({
    backends: () => backends,
    names: () => names,
    view: () => undefined,
    catalogue: () => 'all',
  })
  directory.refresh()
  return directory
}

function readAt(directory: RouteDirectory, uri: string): string | undefined {
  const found = directory.resource(uri)
  return found && `${found.backend.name} ${found.name}`
}

test('a later server cannot take addresses of an earlier one, and its own are told apart', () => {
  const mail = { resources: listed(['mail://inbox']), resourceTemplates: templated(['mail://{id}']) }
  const directory = mailDirectory(mail, {
    resources: listed(['mail://inbox', 'mail://sent', 'other://1']),
    resourceTemplates: templated(['mail://1{rest}', 'mail://{id}', 'mail://inbox{?page}', 'mai{rest}']),
  })
  for (const uri of ['mail://inbox', 'mail://sent', 'mail://123', 'mail://9', 'mail://inbox?page=2'])
    expect(readAt(directory, uri)).toBe(`mail ${uri}`)
  expect(readAt(directory, 'pannier://other/mail://sent')).toBe('other mail://sent')
  expect(readAt(directory, 'pannier://other/mail://123')).toBe('other mail://123')
  expect(readAt(directory, 'other://1')).toBe('other other://1')
  expect(readAt(directory, 'maize')).toBe('other maize')
  const { entries } = directory.refresh()
  expect(entries.resources.map(({ uri }) => uri)).toEqual([
    'pannier://mail/mail://inbox',
    'pannier://other/mail://inbox',
    'pannier://other/mail://sent',
    'other://1',
  ])
})

test('a resource is read at its server where a later one has a template for its address', () => {
  const directory = mailDirectory(
    { resources: listed(['mail://inbox']) },
    { resources: listed(['mail://inbox']), resourceTemplates: templated(['mail://in{rest}']) },
  )
  expect(readAt(directory, 'mail://inbox')).toBe('mail mail://inbox')
  expect(readAt(directory, 'mail://into')).toBe('other mail://into')
})

test('templates of very many lengths do not hold up the lists of a later server', () => {
  const starts = Array.from({ length: 2700 }, (_, at) => 'b'.repeat(at + 1))
  const uris = Array.from({ length: 1900 }, (_, at) => `${'a'.repeat(1990)}${at}`)
  const before = process.cpuUsage()
  const directory = mailDirectory(
    { resourceTemplates: templated(starts.map((start) => `${start}{x}`)) },
    { resources: listed(uris) },
  )
  const { user } = process.cpuUsage(before)
  expect(user / 1000).toBeLessThan(1000)
  expect(readAt(directory, `${'a'.repeat(1990)}7`)).toBe(`other ${'a'.repeat(1990)}7`)
})
