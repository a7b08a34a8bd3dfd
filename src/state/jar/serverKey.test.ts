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
  const programs =
    'node python3 npx uvx uv docker weather busybox deno bun tsx java bash pipx npm pnpm mcp global cmd.exe'
  for (const name of programs.split(' ')) file(`bin/${name}`, 0o755)
  link('bin/alias', 'weather')
  link('bin/interpreter', 'node')
  link('bin/tool', 'busybox')
  file('bin/notes')
  for (const name of ['server.js', 'server.ts', 'server.py', 'mod.py', 'package/__main__.py', 'deep/in/side.py']) {
    file(`project/${name}`)
  }
  file('project/app.jar')
  link('project/linked.js', '../elsewhere/real.js')
  file('elsewhere/real.js')
  file('elsewhere/lib/found.py')
  file('project/node_modules/local-package/cli.js', 0o755)
  link('project/node_modules/.bin/local', '../local-package/cli.js')
  link('linked-project', 'project')
  link('venv/bin/python', '../../bin/python3')

  const run = (line: string, more: Partial<JarProgram> = {}) => {
    const [command = '', ...args] = line.split(' ')
    const env = { PATH: at('bin'), ...more.env }
    const place = jarServerOf({ command, args, cwd: at('project'), ...more, env })
    return 'server' in place ? place.server.replace(root, '') : place.refused
  }

  const named: [string, string][] = [
    // The program itself.
    ['weather', '/bin/weather'],
    ['weather --units metric /some/folder', '/bin/weather'],
    ['../bin/weather', '/bin/weather'],
    ['alias', '/bin/weather'],
    ['weather x local', '/bin/weather'],
    ['weather run server.ts', '/bin/weather'],
    ['weather /c local', '/bin/weather'],
    // The file that an interpreter runs.
    ['node server.js', '/project/server.js'],
    ['node ./server.js --port 3', '/project/server.js'],
    ['node server', '/project/server.js'],
    ['node linked.js', '/elsewhere/real.js'],
    ['node .', '/project'],
    ['interpreter server.js', '/project/server.js'],
    ['node --import tsx -r dotenv/config --max-old-space-size=64 --no-warnings -- server.js', '/project/server.js'],
    ['node --conditions=development --env-file=.env server.js', '/project/server.js'],
    ['python3 server.py', '/project/server.py'],
    ['python3 -u -X dev -Wignore server.py', '/project/server.py'],
    ['bun server.ts', '/project/server.ts'],
    ['bun run server.ts', '/project/server.ts'],
    ['deno run -A --allow-net=example.com server.ts', '/project/server.ts'],
    ['tsx --tsconfig tsconfig.json server.ts', '/project/server.ts'],
    ['java -Xmx64m -Dx=y -jar app.jar --stdio', '/project/app.jar'],
    ['bash server.py', '/project/server.py'],
    ['mcp run server.py:app', '/project/server.py'],
    // A module: a file where the working folder has it, else the interpreter's own.
    ['python3 -m mod', '/project/mod.py'],
    ['python3 -u -m package', '/project/package/__main__.py'],
    ['python3 -m deep.in.side --flag', '/project/deep/in/side.py'],
    ['python3 -m elsewhere', '/bin/python3 -m elsewhere'],
    ['../venv/bin/python -m elsewhere', '/venv/bin/python -m elsewhere'],
    // A package: its file where it is installed, else by its name.
    ['npx -y local', '/project/node_modules/local-package/cli.js'],
    ['npx local-package', '/project/node_modules/local-package'],
    ['npx global', '/bin/global'],
    ['npx -y weather-server', 'pkg:npm/weather-server'],
    ['npx -y @acme/weather@1.2.3 --units metric', 'pkg:npm/@acme/weather'],
    ['npx -y @acme/mcp@latest --headless', 'pkg:npm/@acme/mcp'],
    ['npx -y @acme/node server.js', 'pkg:npm/@acme/node'],
    ['npx --package=@acme/tools weather-server', 'pkg:npm/@acme/tools#weather-server'],
    ['npx --package=weather-server@2 weather-server', 'pkg:npm/weather-server'],
    ['npx -p local-package other', '/project/node_modules/local-package#other'],
    ['bunx weather-server', 'pkg:npm/weather-server'],
    ['npm exec -- weather-server', 'pkg:npm/weather-server'],
    ['pnpm dlx weather-server@latest', 'pkg:npm/weather-server'],
    ['bun x weather-server', 'pkg:npm/weather-server'],
    ['deno run -A npm:@acme/weather@1', 'pkg:npm/@acme/weather'],
    ['uvx Weather_Server', 'pkg:pypi/weather-server'],
    ['uvx weather.server@1.2', 'pkg:pypi/weather-server'],
    ['uvx --from acme-tools[cli]==2.0 weather', 'pkg:pypi/acme-tools#weather'],
    ['uvx --from acme-tools python -m acme.weather', 'pkg:pypi/acme-tools#-m acme.weather'],
    ['uv tool run weather-server', 'pkg:pypi/weather-server'],
    ['pipx run --spec acme-tools weather', 'pkg:pypi/acme-tools#weather'],
    ['uv run server.py', '/project/server.py'],
    ['uv --directory ../elsewhere run lib/found.py', '/elsewhere/lib/found.py'],
    ['uv run --directory ../elsewhere --with mcp mcp run lib/found.py', '/elsewhere/lib/found.py'],
    ['uv run --directory ../elsewhere weather', '/elsewhere weather'],
    ['uv --directory ../nowhere run --directory ../elsewhere lib/found.py', '/elsewhere/lib/found.py'],
    ['uv run run', '/project run'],
    ['uv run -m mod', '/project -m mod'],
    ['uv run --module mod', '/project -m mod'],
    ['uv run python -m mod', '/project -m mod'],
    // A runner of a runner.
    ['npx -y tsx server.ts', '/project/server.ts'],
    ['npx tsx@4 server.ts', '/project/server.ts'],
    ['cmd.exe /c npx -y weather-server', 'pkg:npm/weather-server'],
    ['cmd.exe /C node server.js', '/project/server.js'],
  ]
  for (const [line, server] of named) {
    proves('CS-18', `the name of "${line}" is its file path, or its package`, () => expect(run(line)).toBe(server))
  }

  const refused: [string, RegExp][] = [
    ['nowhere', /no such program/],
    ['notes', /no such program/],
    ['', /no such program/],
    ['node', /given no file/],
    ['node nowhere.js', /no such file/],
    ['node -e process.exit()', /these arguments of node mean/],
    ['node --eval=process.exit()', /these arguments of node mean/],
    ['node --brand-new value server.js', /these arguments of node mean/],
    ['node -', /these arguments of node mean/],
    ['java -jar', /these arguments of java mean/],
    ['python3 -m', /these arguments of python mean/],
    ['deno', /these arguments of deno mean/],
    ['cmd.exe', /cmd starts another program/],
    ['cmd.exe /k npx -y weather-server', /cmd starts another program/],
    ['cmd.exe /c', /no such program/],
    ['python3 -c pass', /these arguments of python mean/],
    ['python3 -m ../x', /no plain name/],
    ['bash -c weather', /these arguments of bash mean/],
    ['deno server.ts', /these arguments of deno mean/],
    ['deno run jsr:@acme/weather', /not a file/],
    ['deno run https://example.com/server.ts', /address of another server/],
    ['java com.acme.Weather', /given no file/],
    ['npx', /given no program/],
    ['npx -p one', /given no program/],
    ['npx -p', /these arguments of npx mean/],
    ['npx -c weather', /these arguments of npx mean/],
    ['npx -p one -p two weather', /several packages/],
    ['npx ./folder', /not named as the registry names it/],
    ['npx github:acme/weather', /not named as the registry names it/],
    ['npx git+ssh://git@example.com/x.git', /not named as the registry names it/],
    ['npm start', /these arguments of npm mean/],
    ['uvx --from git+https://example.com/x weather', /not named as the registry names it/],
    ['uvx --index-url=x weather', /these arguments of uvx mean/],
    ['uv', /these arguments of uv mean/],
    ['uv --brand-new run server.py', /these arguments of uv mean/],
    ['uv run', /uv is given no program/],
    ['uv run --brand-new server.py', /these arguments of uv run mean/],
    ['uv tool install x', /these arguments of uv tool mean/],
    ['uv pip install x', /these arguments of uv pip mean/],
    ['npx mcp-remote example.com', /mcp-remote starts another program/],
    ['npx -y @smithery/cli@latest run weather', /@smithery\/cli starts another program/],
    ['npx -p @smithery/cli smithery run weather', /@smithery\/cli starts another program/],
    ['npx -y some-bridge https://example.com/mcp', /address of another server/],
    ['weather --sse=https://example.com/sse', /address of another server/],
    ['docker run -i --rm acme/weather', /docker starts another program/],
    ['npx -y docker run x', /docker starts another program/],
    ['tool weather', /busybox starts another program/],
    ['uv run docker run x', /docker starts another program/],
    ['uv run --directory ../nowhere weather', /no such folder/],
  ]
  for (const [line, reason] of refused) {
    proves('CS-18', `no state is kept for "${line}", which does not tell the server's file`, () => {
      expect(run(line)).toMatch(/^No state is kept, because it is not clear which file is the server: /)
      expect(run(line)).toMatch(reason)
    })
  }

  test('the environment and the folder that a target brings decide which file it is', () => {
    expect(run('node real.js', { cwd: at('elsewhere') })).toBe('/elsewhere/real.js')
    expect(run('node server.js', { cwd: at('linked-project') })).toBe('/project/server.js')
    expect(run('python3 -m found', { env: { PYTHONPATH: at('elsewhere/lib') } })).toBe('/elsewhere/lib/found.py')
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
