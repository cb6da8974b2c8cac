// What every component has in common: its place on the page, and how it is mounted.

/**
 * What a component calls to tell the server something: a state stays, a trigger is seen once.
 * @typedef {{
 *   setStateValue: (name: string, value: any) => void,
 *   setTriggerValue: (name: string, value: any) => void,
 * }} Server
 */

/**
 * A component that Streamlit can mount.
 * @typedef {{ server: Server, show: (data: any) => unknown, close?: () => void }} Mounted
 */

/** A component that is an element of the page. */
export class Component {
  /** @type {Server} */
  server;

  /**
   * @param {HTMLElement | ShadowRoot} parent
   * @param {HTMLElement} root which the component fills
   */
  constructor(parent, root) {
    this.root = root;
    parent.append(root);
  }

  close() {
    this.root.remove();
  }
}

/** A component that is painted on the next frame, once however much changes until then, and again for another width. */
export class PaintedComponent extends Component {
  /** @type {number | null} the next frame, if it is waited for */
  frame = null;
  resizing = new ResizeObserver(() => this.draw());

  /**
   * @param {HTMLElement | ShadowRoot} parent
   * @param {HTMLElement} root which the component fills
   */
  constructor(parent, root) {
    super(parent, root);
    this.resizing.observe(root);
  }

  close() {
    this.resizing.disconnect();
    super.close();
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.root.isConnected && this.root.clientWidth) this.paint();
    });
  }

  /** @abstract */
  paint() {}
}

/**
 * A class of components as the function that Streamlit calls: when the page is drawn, and again with new data or another
 * theme. What it returns is called when the component leaves the page.
 * @param {new (parent: HTMLElement | ShadowRoot) => Mounted} ComponentClass
 */
export function mount(ComponentClass) {
  /** @type {WeakMap<object, Mounted>} */
  const mounted = new WeakMap();
  /** @param {{ data: any, parentElement: HTMLElement | ShadowRoot } & Server} call */
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    const component = mounted.get(parentElement) ?? new ComponentClass(parentElement);
    mounted.set(parentElement, component);
    component.server = { setStateValue, setTriggerValue };
    component.show(data);
    return () => {
      mounted.delete(parentElement);
      component.close?.();
    };
  };
}
