import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { type JarProgram, jarServerOf } from '../index.ts'

const nameOf = (url: string, allowLocal = false) => {
  const place = jarServerOf({ url }, { allowLocal })
  return 'server' in place ? place.server : 'refused'
}

const domains: [string, string][] = [
  ['https://example.com/mcp', 'example.com'],
  ['http://example.com', 'example.com'],
  ['https://example.com:8443/other?q#f', 'example.com'],
  ['wss://example.com', 'example.com'],
  ['https://EXAMPLE.Com./', 'example.com'],
  ['https://example.com%2e/', 'example.com'],
  ['https://ex%41mple.com/', 'example.com'],
  ['https://user:word@example.com/', 'example.com'],
  ['https://www.example.com/', 'www.example.com'],
  ['https://a.b.www.example.co.uk/', 'a.b.www.example.co.uk'],
  ['https://münchen.de/', 'xn--mnchen-3ya.de'],
  ['https://XN--MNCHEN-3YA.de/', 'xn--mnchen-3ya.de'],
  ['https://ｅxample.com/', 'example.com'],
  ['https://firma.公司.cn/', 'firma.xn--55qx5d.cn'],
  ['https://ann.github.io/', 'ann.github.io'],
  ['https://bucket.s3.amazonaws.com/', 'bucket.s3.amazonaws.com'],
  ['https://www.ck/', 'www.ck'],
  ['https://a_b.example.com/', 'a_b.example.com'],
]
proves('CS-14', 'the name of an HTTP server is its full domain name without protocol, port or final dot', () => {
  expect(domains.map(([url]) => [url, nameOf(url)])).toEqual(domains)
})

proves('CS-14', 'names of servers are equal exactly when their domain names are', () => {
  const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/)
  const host = fc
    .tuple(label, fc.constantFrom('example.com', 'example.co.uk', 'ann.github.io'))
    .map((all) => all.join('.'))
  const spelling = fc.record({
    scheme: fc.constantFrom('http', 'https', 'HTTPS'),
    port: fc.constantFrom('', ':80', ':443', ':8080'),
    dot: fc.constantFrom('', '.'),
    loud: fc.boolean(),
    path: fc.constantFrom('', '/', '/mcp', '/other?x=https://example.org/'),
  })
  fc.assert(
    fc.property(host, spelling, host, (one, { scheme, port, dot, loud, path }, other) => {
      const url = `${scheme}://${loud ? one.toUpperCase() : one}${dot}${port}${path}`
      expect(nameOf(url)).toBe(one)
      expect(nameOf(`https://${other}`) === nameOf(url)).toBe(other === one)
    }),
  )
})

const localhosts = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost%2E',
  'api.localhost',
  'a.b.Localhost.',
  'ⓛocalhost',
]
proves('CS-15', 'no state is kept for localhost, however it is spelled', () => {
  for (const host of localhosts) {
    const place = jarServerOf({ url: `http://${host}:3000/mcp` })
    expect(place, host).toEqual({ refused: expect.stringMatching(/localhost.*allowLocal/) })
  }
})

const words = (text: string) => text.split(/\s+/)
const addresses = words(`127.0.0.1 127.0.0.1. 127.1 0x7f.1 0x7F000001 2130706433 0177.0.0.1 017700000001 0
  10.0.0.8 8.8.8.8 ①②⑦.0.0.1 127。0。0。1 １２７.0.0.1 127.0.0.%31
  [::1] [::] [::ffff:7f00:1] [::ffff:127.0.0.1] [0:0:0:0:0:0:0:1] [2001:db8::1] [fe80::1]`)
proves('CS-16', 'no state is kept for IP addresses, in any spelling', () => {
  for (const host of addresses) {
    const place = jarServerOf({ url: `http://${host}/` })
    expect(place, host).toEqual({ refused: expect.stringMatching(/IP address.*allowLocal/) })
  }
})

const unregistered = words(`intranet server.local x.internal x.corp x.lan x.test x.invalid x.example localhost6
  localhost.localdomain router.home.arpa 1.0.0.127.in-addr.arpa abcdefgh.onion 例え.テスト
  com co.uk github.io s3.amazonaws.com 公司.cn bar.ck COM. onion arpa
  example.com.. a..example.com .example.com *.example.com -a.example.com ${'a'.repeat(64)}.com
  ${'a.'.repeat(125)}example.com`)
proves('CS-17', 'state is kept only for names in a domain that a registry gave to somebody', () => {
  for (const host of unregistered) expect(nameOf(`https://${host}/`), host).toBe('refused')
})

test('what is no address of a server gets no name', () => {
  const urls = [
    '',
    'example.com',
    '//example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://',
    'http://a b.com',
  ]
  for (const url of urls) expect([nameOf(url), nameOf(url, true)], url).toEqual(['refused', 'refused'])
})

test('allowLocal names what has no registered name, port included, and changes no other name', () => {
  const cases = [
    ['http://localhost:3000/mcp', 'localhost:3000'],
    ['http://LOCALHOST.', 'localhost:80'],
    ['https://api.localhost', 'api.localhost:443'],
    ['http://0x7f.1:3000', '127.0.0.1:3000'],
    ['http://[::1]:3000', '[::1]:3000'],
    ['http://intranet', 'intranet:80'],
    ['https://example.com:8443', 'example.com'],
  ] as const
  expect(cases.map(([url]) => [url, nameOf(url, true)])).toEqual(cases)
})

describe('a server that is started as a process', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'pannier-scope-')))
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  const at = (path: string) => join(root, path)
  const file = (path: string, mode = 0o644) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), '')
    chmodSync(at(path), mode)
  }
  const link = (path: string, to: string) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    symlinkSync(to, at(path))
  }
  for (const name of ['node', 'npx', 'weather']) file(`bin/${name}`, 0o755)
  link('bin/alias', 'weather')
  file('bin/notes')
  for (const name of ['server.js', 'server.py', 'with space.js']) file(`project/${name}`)
  link('project/linked.js', '../elsewhere/real.js')
  file('elsewhere/real.js')
  link('linked-project', 'project')
  link('linked-bin', 'bin')

  const run = (line: string, more: Partial<JarProgram> = {}) => {
    const [command = '', ...args] = line.split(' ')
    const env = { PATH: at('bin'), ...more.env }
    const place = jarServerOf({ command, args, cwd: at('project'), ...more, env })
    return 'server' in place ? place.server.replaceAll(root, '') : place.refused
  }

  const named: [string, string][] = [
    ['weather', '/bin/weather'],
    ['../bin/weather', '/bin/weather'],
    ['../linked-bin/weather', '/bin/weather'],
    ['alias', '/bin/alias'],
    ['node server.js', '/bin/node /project/server.js'],
    ['node ./server.js', '/bin/node /project/server.js'],
    ['node linked.js', '/bin/node /elsewhere/real.js'],
    ['node .', '/bin/node /project'],
    ['weather ../elsewhere server.py', '/bin/weather /elsewhere /project/server.py'],
  ]
  for (const [line, server] of named) {
    proves('CS-18', `the name of "${line}" is the path of its program and of its files`, () =>
      expect(run(line)).toBe(server),
    )
  }

  proves('CS-18', 'other arguments tell servers of one program apart, and are not shown', () => {
    const lines = [
      'npx -y weather',
      'npx -y notes',
      'npx -y',
      'npx',
      'npx weather -y',
      'npx -y server.js',
      'node -y notes',
    ]
    const names = lines.map((line) => run(line))
    expect(new Set(names).size).toBe(lines.length)
    expect(names[0]).toMatch(/^\/bin\/npx #[\w-]+$/)
    expect(run('npx -y server.js')).toMatch(/^\/bin\/npx \/project\/server\.js #[\w-]+$/)
    expect(run('npx -y ./server.js')).toBe(run('npx -y server.js'))
    expect(run('weather --token=secret')).not.toContain('secret')
    expect(run('npx -y notes', { cwd: at('elsewhere') })).not.toBe(run('npx -y notes'))
  })

  test('no two command lines have one name by the spaces in them', () => {
    const named = (...args: string[]) => run('node', { args })
    expect(named('with space.js')).toBe(`/bin/node "${at('project/with space.js')}"`.replace(root, ''))
    expect(named('a b')).not.toBe(named('a', 'b'))
    expect(named('')).not.toBe(named())
  })

  test.each(['nowhere', 'notes', ''])('no state is kept for "%s", which is no program', (line) => {
    expect(run(line)).toBe('No state is kept, because there is no such program.')
  })

  test('the environment and the folder that a target brings decide which file it is', () => {
    expect(run('node real.js', { cwd: at('elsewhere') })).toBe('/bin/node /elsewhere/real.js')
    expect(run('node server.js', { cwd: at('linked-project') })).toBe('/bin/node /project/server.js')
    expect(run('weather', { env: { PATH: at('elsewhere') } })).toMatch(/no such program/)
  })

  proves(
    'CS-26',
    'whatever lies at a path has the name of what lay there before: two servers at one path share state',
    () => {
      file('project/replaced.js')
      const before = run('node replaced.js')
      writeFileSync(at('project/replaced.js'), 'another server')
      expect(run('node replaced.js')).toBe(before)
    },
  )

  test('no command line makes it throw', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('node', 'npx', 'uv', 'run', '-m', '--', '-p', 'x@', '@', '@/', '-', '--from', '=', 'cmd', '/c'),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), ([command = '', ...args]) => {
        const place = jarServerOf({ command, args, cwd: at('project'), env: { PATH: at('bin') } })
        expect('server' in place ? place.server : place.refused).not.toBe('')
      }),
      { numRuns: 2000 },
    )
  })
})
