/** The jar for the other folders of this package: the client uses it, and no server does. */
export { memoryJar } from './memory.ts'
export type { JarOptions } from './jar.ts'
export { type JarScopeOptions, jarServerOf } from './serverKey.ts'
export { defaultJarPath, type SqliteJarOptions, sqliteJar } from './sqlite.ts'
export type {
  Jar,
  JarChange,
  JarContents,
  JarEntry,
  JarFilter,
  JarItem,
  JarKey,
  JarNews,
  JarOwner,
  JarProgram,
  JarServer,
  JarStore,
} from './store.ts'
