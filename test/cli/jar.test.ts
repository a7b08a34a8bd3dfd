/** `pannier jar`: once as a process, and then many command lines in one. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteJar } from 'pannier/state'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { pannier as pannierProcess, ProgramHost, type Ran } from './fixtures/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-cli-jar-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const host = new ProgramHost()
afterAll(() => host.close())

const env = { XDG_DATA_HOME: folder, LOCALAPPDATA: folder }

/** Runs the program with a data folder of its own. */
const pannier = (...args: string[]): Promise<Ran> => host.run(['jar', ...args], { env })

const path = join(folder, 'pannier', 'jar.db')
const EVIL = 'evil\u001b[2J\u009b31m\u202e'
const ann = { server: 'shop.example.com', principal: 'ann', context: 'chat 1' }

beforeEach(async () => {
  rmSync(path, { force: true })
  const jar = sqliteJar({ path, clock: () => Date.now() - 3.2 * 3_600_000 })
  await jar.write(ann, { session: { 'Cart Contents': { items: ['secret'] } }, server: { id: 'secret', [EVIL]: 1 } })
  await jar.write({ ...ann, server: '/opt/weather/server.js', principal: 'bob' }, { server: { units: 'metric' } })
  jar.close()
})

/** Nothing secret, and nothing that a terminal would obey. */
function expectHarmless(text: string): void {
  for (const bad of ['secret', '\u001b', '\u009b', '\u202e']) expect(text.includes(bad)).toBe(false)
}

describe('jar list', () => {
  test('prints a table without values, with names that cannot steer a terminal', async () => {
    const lines = [
      'SERVER                  PRINCIPAL  SCOPE    CONTEXT  NAME                            BYTES  AGE',
      'shop.example.com        ann        server   -        "evil\\u001b[2J\\u009b31m\\u202e"  17     3 h',
      'shop.example.com        ann        server   -        id                              10     3 h',
      'shop.example.com        ann        session  chat 1   Cart Contents                   33     3 h',
      '/opt/weather/server.js  bob        server   -        units                           13     3 h',
    ]
    const listed = { status: 0, stdout: `${lines.join('\n')}\n`, stderr: '' }
    expect(await pannierProcess(['jar', 'list'], { env })).toEqual(listed)
    expect(await pannier('list')).toEqual(listed)
  })

  test('can be narrowed by server, principal and name', async () => {
    const names = async (...args: string[]) => {
      const entries = JSON.parse((await pannier('list', '--json', ...args)).stdout) as { name: string }[]
      return entries.map(({ name }) => name)
    }
    const found = await Promise.all([
      names('--server', 'shop.example.com', '--name', 'id'),
      names('--principal', 'bob'),
      names('--name', EVIL),
      names('--server', 'other.example.com'),
    ])
    expect(found).toEqual([['id'], ['units'], [EVIL], []])
  })

  test('prints JSON without values, and without what a terminal would obey', async () => {
    const { stdout } = await pannier('list', '--json')
    const entries: unknown = JSON.parse(stdout)
    const time = expect.stringMatching(/^\d{4}-.*Z$/)
    const cart = { ...ann, scope: 'session', name: 'Cart Contents', bytes: 33, updatedAt: time, usedAt: time }
    expect(entries).toHaveLength(4)
    expect(entries).toContainEqual(cart)
    expectHarmless(stdout)
  })

  test('says so when nothing is kept, and makes no file', async () => {
    rmSync(path)
    const ended = await Promise.all([pannier('list'), pannier('list', '--json'), pannier('clear', '--all')])
    expect(ended.map(({ stdout }) => stdout)).toEqual([
      `Nothing is kept in ${path}.\n`,
      '[]\n',
      `Nothing was removed. Nothing is kept in ${path}.\n`,
    ])
    expect(ended.every(({ status, stderr }) => status === 0 && stderr === '')).toBe(true)
    expect(existsSync(path)).toBe(false)
  })
})

test('jar show hides values unless they are asked for', async () => {
  const [hidden, hiddenJson, shown, shownJson] = await Promise.all([
    pannier('show', '--server', ann.server),
    pannier('show', '--json'),
    pannier('show', '--values', '--name', 'Cart Contents'),
    pannier('show', '--values', '--json', '--name', 'id'),
  ])
  expect(hidden.stdout).toContain(
    'shop.example.com: Cart Contents\n  principal  ann\n  scope      session, context chat 1\n',
  )
  expect(hidden.stdout).toContain('  value      hidden; --values prints it\n')
  expectHarmless(hidden.stdout)
  expectHarmless(hiddenJson.stdout)
  expect(hiddenJson.stdout).not.toContain('"value"')
  expect(shown.stdout).toContain('  value      {\n               "items": [\n                 "secret"\n')
  expect(JSON.parse(shownJson.stdout)).toMatchObject([{ name: 'id', value: 'secret' }])
})

describe('jar clear', () => {
  proves('CS-12', 'people can remove what servers keep with them, and are told what that was', async () => {
    const { status, stdout, stderr } = await pannier('clear', '--server', ann.server, '--name', 'id')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^Removed 1 name:\nSERVER .*\nshop\.example\.com +ann +server +- +id +10 +3 h\n$/)
    expect((await pannier('clear', '--principal', 'ann')).stdout).toMatch(/^Removed 2 names:\n/)
    const rest = await pannier('clear', '--all', '--json')
    expect(JSON.parse(rest.stdout)).toMatchObject([{ name: 'units', principal: 'bob' }])
    expect((await pannier('list')).stdout).toBe(`Nothing is kept in ${path}.\n`)
  })

  test('removes nothing unless it is told what', async () => {
    const [all, both, none] = await Promise.all([
      pannier('clear'),
      pannier('clear', '--all', '--name', 'id'),
      pannier('clear', '--name', 'nothing'),
    ])
    expect(all).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/Say what to remove/) })
    expect(both).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/either --all/) })
    expect(none.stdout).toBe(`Nothing was removed. Nothing like that is kept in ${path}.\n`)
    expect(JSON.parse((await pannier('list', '--json')).stdout)).toHaveLength(4)
  })
})

test('a jar that cannot be used ends with exit code 2 and a sentence that names it', async () => {
  const at = (name: string) => join(folder, name)
  const change = (name: string, sql: string) => {
    const database = new DatabaseSync(at(name))
    database.exec(sql)
    database.close()
  }
  writeFileSync(at('notes.db'), 'notes '.repeat(200))
  change('other.db', 'CREATE TABLE customers (name TEXT)')
  sqliteJar({ path: at('newer.db') }).close()
  change('newer.db', 'PRAGMA user_version = 9')

  const cases: [string[], RegExp][] = [
    [['--file', at('nowhere.db')], /There is no file .*nowhere\.db\./],
    [['--file', at('notes.db')], /notes\.db: .*damaged/],
    [['--file', folder], /The file cannot be used/],
    [['--file', at('other.db')], /other\.db: The file is a database, but not a jar/],
    [['--file', at('newer.db')], /newer\.db: The file has schema/],
  ]
  const ended = await Promise.all(cases.map(([args]) => pannier('list', ...args)))
  for (const [index, { status, stdout, stderr }] of ended.entries()) {
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(cases[index]![1])
    expect(stderr).not.toMatch(/\n {4}at /)
  }
})
