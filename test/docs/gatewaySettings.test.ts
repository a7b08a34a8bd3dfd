/** The page with the settings of the gateway has all of them, with their defaults. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BACKEND_DEFAULTS, GATEWAY_DEFAULTS, gatewayConfigOf } from '../../src/gateway/config/index.ts'

const page = readFileSync(new URL('../../docs/reference/gateway-settings.md', import.meta.url), 'utf8')

/** The rows of the tables, each as a map from the setting to its default. */
const tables = page
  .split('| setting | what it means | default | type |\n|---|---|---|---|\n')
  .slice(1)
  .map((text) => {
    const [table = ''] = text.split('\n\n')
    const rows = table.split('\n').map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    return new Map(rows.map(([, name = '', , standard = '']) => [name.replaceAll('`', ''), standard]))
  })

/** The settings that the program knows: it lists them when it gets one that it does not know. */
async function known(config: object): Promise<readonly string[]> {
  const error: unknown = await gatewayConfigOf(config, { env: {} }).catch((cause: unknown) => cause)
  return /It has: (.*)\.$/.exec(String(error))?.[1]?.split(', ') ?? []
}

const odd = { qqqqqqqqqqqqqqqq: 1 }

test.each<[string, number, object, Readonly<Record<string, unknown>>]>([
  ['a server', 0, { servers: { a: { command: 'a', pannier: odd } } }, { ...BACKEND_DEFAULTS }],
  ['the gateway', 1, { servers: {}, gateway: odd }, { ...GATEWAY_DEFAULTS }],
  [
    'a view',
    2,
    { servers: {}, gateway: { views: { a: odd } } },
    { tools: ['*'], deny: [], rename: {}, descriptions: {} },
  ],
  ['limits', 3, { servers: {}, gateway: { limits: odd } }, {}],
  ['admin', 4, { servers: {}, gateway: { admin: odd } }, { ...GATEWAY_DEFAULTS.admin }],
])('every setting of %s is on the page, with its default', async (_, at, config, defaults) => {
  const table = tables[at] ?? new Map<string, string>()
  expect([...table.keys()].toSorted()).toEqual((await known(config)).toSorted())
  for (const [name, standard] of table) {
    if (Object.hasOwn(defaults, name)) expect(`${name}: ${standard}`).toContain(`\`${JSON.stringify(defaults[name])}\``)
    else expect(standard).not.toMatch(/^`[{["]/)
  }
})

test('the example can be served', async () => {
  const [, example = ''] = /```json\n(.*?)```/s.exec(page) ?? []
  const { servers, unusable } = await gatewayConfigOf(JSON.parse(example), { env: { HOME: '/h', CRM_TOKEN: 't' } })
  expect([servers.map(({ name }) => name), unusable]).toEqual([['files', 'crm'], []])
})
