import { describe, expect, test } from 'vitest'
import { openerOf, readVisitAddress } from './visit.ts'

describe('pages that may be opened', () => {
  test.each<[string, string, string, number]>([
    ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d', 'example.com', 0],
    ['HTTPS://EXAMPLE.com:8443', 'https://example.com:8443/', 'example.com:8443', 0],
    ['https://apple.com.evil.example/x', 'https://apple.com.evil.example/x', 'apple.com.evil.example', 0],
    ['https://аррӏе.com/', 'https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com', 1],
    ['https://xn--80ak6aa92e.com/', 'https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com', 1],
    ['https://a.com/\u202egnp.exe', 'https://a.com/%E2%80%AEgnp.exe', 'a.com', 0],
    ['https://a.com/\u001b[2J', 'https://a.com/%1B[2J', 'a.com', 0],
    ['https://93.184.216.34/', 'https://93.184.216.34/', '93.184.216.34', 1],
    ['https://0x5db8d822/', 'https://93.184.216.34/', '93.184.216.34', 1],
    ['https://[2001:db8::1]/', 'https://[2001:db8::1]/', '[2001:db8::1]', 1],
    ['http://localhost:3000/x', 'http://localhost:3000/x', 'localhost:3000', 1],
    ['http://app.localhost/', 'http://app.localhost/', 'app.localhost', 1],
    ['http://127.1:80/', 'http://127.0.0.1/', '127.0.0.1', 1],
    ['http://[::1]:9/', 'http://[::1]:9/', '[::1]:9', 1],
  ])('%s', (text, href, host, warnings) => {
    const address = readVisitAddress(text)
    expect(address).toMatchObject({ kind: 'usable', href, host })
    expect(address.kind === 'usable' && address.warnings).toHaveLength(warnings)
    expect(href).toMatch(/^[\x21-\x7e]+$/)
  })

  test('a host in other letters is shown both ways', () => {
    const address = readVisitAddress('https://bücher.example/')
    expect(address).toMatchObject({
      host: 'xn--bcher-kva.example',
      warnings: [expect.stringContaining('bücher.example')],
    })
  })
})

describe('pages that are never opened', () => {
  test.each([
    ['http://example.com/'],
    ['http://localhost.example.com/'],
    ['http://127.0.0.1.example.com/'],
    ['https://user@example.com/'],
    ['https://good.example:pw@evil.example/'],
    ['https://good.example%2f@evil.example/'],
    ['javascript:alert(1)'],
    ['file:///etc/passwd'],
    ['data:text/html,x'],
    ['ftp://example.com/'],
    ['vscode://x/y'],
    ['-https://example.com'],
    ['example.com'],
    ['//example.com'],
    [''],
    [undefined],
    [{ href: 'https://example.com' }],
    [`https://example.com/${'x'.repeat(9000)}`],
  ])('%s', (text) => {
    expect(readVisitAddress(text).kind).toBe('refused')
  })
})

test('each system has an opener that needs no shell, and the address is one argument', () => {
  const href = 'https://example.com/?a=1&b=$(id)|"x'
  for (const platform of ['linux', 'darwin', 'win32'] as const) {
    const [command, args] = openerOf(platform, href)
    expect(command).not.toMatch(/cmd|sh$/)
    expect(args.at(-1)).toBe(href)
  }
})
