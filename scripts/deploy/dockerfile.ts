/** A Dockerfile as its stages. */

export interface Instruction {
  readonly name: string
  readonly words: string
}

export interface ImageStage {
  /** The name behind AS; that of the last stage is usually empty. */
  readonly name: string
  readonly instructions: readonly Instruction[]
}

/** Instructions with lines that continue joined, by stage. What comes before the first FROM is left out. */
export function stagesOf(dockerfile: string): readonly ImageStage[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const stages: { name: string; instructions: Instruction[] }[] = []
  for (const line of lines) {
    const [, name = '', words = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') stages.push({ name: / AS (\S+)$/.exec(words)?.[1] ?? '', instructions: [] })
    else stages.at(-1)?.instructions.push({ name, words })
  }
  return stages
}

/** The value of an instruction in its JSON form, such as CMD. */
export function jsonWords({ instructions }: ImageStage, name: string): readonly string[] {
  const { words = '[]' } = instructions.findLast((each) => each.name === name) ?? {}
  return JSON.parse(words.slice(words.indexOf('['))) as readonly string[]
}
