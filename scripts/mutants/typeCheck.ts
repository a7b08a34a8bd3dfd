import { join } from 'node:path'
import { API } from 'typescript/unstable/sync'

/** A compiler that stays, so that the second file is checked at once. */
export class TypeCheck {
  readonly #folder: string
  #compiler: API | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Whether a file that has changed has no type errors. Other files cannot have new ones: what is exported declares its types. */
  passes(path: string): boolean {
    const file = join(this.#folder, path)
    this.#compiler ??= new API({ cwd: this.#folder })
    const openProjects = [join(this.#folder, 'tsconfig.json')]
    const snapshot = this.#compiler.updateSnapshot({ openProjects, fileChanges: { changed: [file] } })
    const [project] = snapshot.getProjects()
    if (project === undefined) throw new Error(`${openProjects[0]} is no project of TypeScript.`)
    const { program } = project
    return program.getSyntacticDiagnostics(file).length + program.getSemanticDiagnostics(file).length === 0
  }

  close(): void {
    try {
      this.#compiler?.close()
    } catch {
      // It has ended already.
    }
  }
}
