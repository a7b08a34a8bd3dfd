/** Names of gateways, and of the files that they serve, in headers and variables. */
const NAME = /^(?:[\w-]{12}|file-[0-9a-f]{16})$/
const FILE = 'file-'

export function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))
}

export function isGatewayName(name: string): boolean {
  return !name.startsWith(FILE)
}

export function fileName(digest: string): string {
  return `${FILE}${digest.slice(0, 16)}`
}
