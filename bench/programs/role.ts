/** What a measured process is asked to be, as its command line says it. */
export interface Role {
  door: 'http' | 'fetch' | 'stdio'
  tool: 'echo' | 'confirm'
  /** How many echo tools to register. */
  registered: number
}

export function readRole(argv: readonly string[] = process.argv.slice(2)): Role {
  const [door, tool, registered] = argv
  if (door !== 'http' && door !== 'fetch' && door !== 'stdio') throw new Error(`No such door: ${door}`)
  if (tool !== 'echo' && tool !== 'confirm') throw new Error(`No such tool: ${tool}`)
  return { door, tool, registered: Number(registered ?? 1) }
}

export function writeRole(role: Role): string[] {
  return [role.door, role.tool, String(role.registered)]
}
