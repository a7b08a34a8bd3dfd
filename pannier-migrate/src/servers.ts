/** Which expressions are servers of an SDK. */
import type { CallExpression, Node } from 'oxc-parser'
import { type Project, type Sdk, sdkName } from './project.ts'
import { childrenOf, type Source } from './source.ts'
import { bare, type FunctionNode, isFunction, memberOf, propertyOf, returnedBy } from './syntax.ts'

/** `low` is the class Server; `inner` is the one inside an McpServer. */
export interface ServerKind {
  readonly sdk: Sdk
  readonly kind: 'mcp' | 'low' | 'inner' | 'fastmcp'
}

const CLASSES: Readonly<Record<string, ServerKind['kind']>> = { McpServer: 'mcp', Server: 'low', FastMCP: 'fastmcp' }

export class Servers {
  readonly #project: Project
  readonly #known = new Map<Node, ServerKind | undefined>()

  constructor(project: Project) {
    this.#project = project
  }

  kindOf(source: Source, expression: Node): ServerKind | undefined {
    const node = bare(expression)
    if (this.#known.has(node)) return this.#known.get(node)
    this.#known.set(node, undefined) // for expressions that need themselves
    const kind = this.#find(source, node)
    this.#known.set(node, kind)
    return kind
  }

  /** The kind that a class of an SDK has, named by an expression or a type. */
  classKind(source: Source, node: Node): ServerKind | undefined {
    const named = sdkName(source, node)
    const kind = named && CLASSES[named.name]
    return named === undefined || kind === undefined ? undefined : { sdk: named.sdk, kind }
  }

  #find(source: Source, node: Node): ServerKind | undefined {
    switch (node.type) {
      case 'NewExpression':
        return this.classKind(source, node.callee)
      case 'AwaitExpression':
        return this.kindOf(source, node.argument)
      case 'Identifier':
        return this.#ofName(source, node)
      case 'CallExpression':
        return this.#ofCall(source, node, (at, value) => this.kindOf(at, value))
      case 'MemberExpression':
        return this.#ofMember(source, node)
      default:
        return undefined
    }
  }

  #ofName(source: Source, node: Node): ServerKind | undefined {
    const found = this.#project.definitionOf(source, node)
    if (found === undefined) return undefined
    const { source: at, binding } = found
    const annotated = this.#ofType(at, binding.id)
    if (annotated !== undefined) return annotated
    if (binding.kind === 'parameter' && binding.node.type === 'TSParameterProperty')
      return this.#ofType(at, binding.node.parameter)
    if (binding.kind !== 'variable') return undefined
    const { node: declarator, path } = binding
    if (declarator.init == null) return this.#ofAssignment(at, binding.id.name)
    if (path.length === 0) return this.kindOf(at, declarator.init)
    const [key = ''] = path
    const init = bare(declarator.init)
    const call = init.type === 'AwaitExpression' ? bare(init.argument) : init
    if (path.length > 1 || call.type !== 'CallExpression') return undefined
    return this.#ofCall(at, call, (inside, value) => {
      const object = bare(value)
      const property = object.type === 'ObjectExpression' ? propertyOf(object, key) : undefined
      return property && this.kindOf(inside, property.value)
    })
  }

  #ofAssignment(source: Source, name: string): ServerKind | undefined {
    for (const node of source.nodes) {
      if (node.type !== 'AssignmentExpression' || node.left.type !== 'Identifier' || node.left.name !== name) continue
      const kind = this.kindOf(source, node.right)
      if (kind !== undefined) return kind
    }
    return undefined
  }

  /** The kind of a call's result, if the function belongs to the project. */
  #ofCall(source: Source, { callee }: CallExpression, kindOf: (at: Source, value: Node) => ServerKind | undefined) {
    const found = this.functionOf(source, callee)
    if (found === undefined) return undefined
    const { returnType } = found.fn
    const annotated = returnType == null ? undefined : this.#ofAnnotation(found.source, returnType.typeAnnotation)
    if (annotated !== undefined) return annotated
    for (const value of returnedBy(found.fn, childrenOf)) {
      const kind = kindOf(found.source, value)
      if (kind !== undefined) return kind
    }
    return undefined
  }

  /** The function that an expression names or is. */
  functionOf(source: Source, expression: Node): { source: Source; fn: FunctionNode } | undefined {
    const node = bare(expression)
    if (isFunction(node)) return { source, fn: node }
    const found = node.type === 'Identifier' ? this.#project.definitionOf(source, node) : undefined
    if (found?.binding.kind === 'function') return { source: found.source, fn: found.binding.node }
    if (found?.binding.kind !== 'variable' || found.binding.path.length > 0) return undefined
    const init = found.binding.node.init == null ? undefined : bare(found.binding.node.init)
    return isFunction(init) ? { source: found.source, fn: init } : undefined
  }

  #ofMember(source: Source, node: Node & { type: 'MemberExpression' }): ServerKind | undefined {
    const member = memberOf(node)
    if (node.object.type === 'ThisExpression')
      return member === undefined ? undefined : this.#ofField(source, node, member)
    const outer = this.kindOf(source, node.object)
    return outer?.kind === 'mcp' && member === 'server' ? { sdk: outer.sdk, kind: 'inner' } : undefined
  }

  /** `this.name`: by the type of the field, its value, or what is assigned to it. */
  #ofField(source: Source, node: Node, name: string): ServerKind | undefined {
    const around = [...source.ancestorsOf(node)].find(({ type }) => type === 'ClassBody')
    if (around === undefined) return undefined
    for (const one of source.within(around)) {
      const kind = this.#ofFieldNode(source, one, name)
      if (kind !== undefined) return kind
    }
    return undefined
  }

  #ofFieldNode(source: Source, node: Node, name: string): ServerKind | undefined {
    if (node.type === 'PropertyDefinition' && node.key.type === 'Identifier' && node.key.name === name) {
      const typed =
        node.typeAnnotation == null ? undefined : this.#ofAnnotation(source, node.typeAnnotation.typeAnnotation)
      return typed ?? (node.value == null ? undefined : this.kindOf(source, node.value))
    }
    if (node.type === 'TSParameterProperty' && node.parameter.type === 'Identifier' && node.parameter.name === name)
      return this.#ofType(source, node.parameter)
    if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return undefined
    const { left, right } = node
    return left.object.type === 'ThisExpression' && memberOf(left) === name ? this.kindOf(source, right) : undefined
  }

  #ofType(source: Source, node: Node): ServerKind | undefined {
    const annotation = 'typeAnnotation' in node ? (node.typeAnnotation as { typeAnnotation: Node } | null) : null
    return annotation == null ? undefined : this.#ofAnnotation(source, annotation.typeAnnotation)
  }

  #ofAnnotation(source: Source, type: Node): ServerKind | undefined {
    if (type.type !== 'TSTypeReference') return undefined
    const [inside] = type.typeArguments?.params ?? []
    if (type.typeName.type === 'Identifier' && type.typeName.name === 'Promise' && inside !== undefined)
      return this.#ofAnnotation(source, inside)
    return this.classKind(source, type.typeName)
  }
}
